"""URIs that our initializers refuse are refused by the preview."""

from typing import Any

import pytest

from trainer_infra import catalog
from trainer_infra.trainers.initializer_uris import unreadable_uris

OURS = catalog.get("torch-distributed-with-initializers")
OF_ANOTHER_IMAGE = catalog.get("torchtune-llama3.2-1b")


def problems(runtime: Any, **initializer: Any) -> list[str]:
    return [str(each) for each in unreadable_uris({"spec": {"initializer": initializer}}, runtime)]


@pytest.mark.parametrize(
    ("uri", "said"),
    [
        ("ftp://host/data", "has the unknown scheme ftp://, got 'ftp://host/data'; did you mean https://?"),
        ("s3a://bucket/data", "has the unknown scheme s3a://, got 's3a://bucket/data'; did you mean s3://?"),
        ("hf:/org/model", "is no URI, got 'hf:/org/model'; write it as scheme://place/path"),
        ("data/words.csv", "is no URI, got 'data/words.csv'; write it as scheme://place/path"),
        ("s3:///data", "names nothing after s3://, got 's3:///data'; write s3://BUCKET/FOLDER"),
        ("htps://user:planted@host/data", "has the unknown scheme htps://; did you mean https://?"),
        ("https://user:planted@host/data", "has credentials in it, and everybody who may read the TrainJob sees"),
        ("htps://host/data?sig=planted", "has the unknown scheme htps://; did you mean https://?"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("field", ["dataset", "model"])
def test_what_its_program_would_refuse_is_said_with_the_field(
    field: str, uri: str, said: str
) -> None:
    (problem,) = problems(OURS, **{field: {"storageUri": uri}})
    assert problem.startswith(f"spec.initializer.{field}.storageUri: {said}")
    assert "planted" not in problem


def test_both_are_said_at_once() -> None:
    wrong = {"storageUri": "ftp://host/data"}
    assert len(problems(OURS, dataset=wrong, model=wrong)) == 2


@pytest.mark.parametrize(
    "given",
    [{}, None, {"storageUri": None}, {"storageUri": ""}, {"storageUri": "HF://org/name@v1"}],
)
def test_what_is_not_given_and_what_is_known_is_right(given: Any) -> None:
    assert problems(OURS, dataset=given) == []


def test_an_initializer_of_another_image_may_know_other_schemes() -> None:
    assert problems(OF_ANOTHER_IMAGE, model={"storageUri": "ftp://host/model"}) == []
