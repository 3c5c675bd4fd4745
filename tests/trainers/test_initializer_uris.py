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
        ("hf://a b/c", "is no name of a dataset or model, got 'hf://a b/c'; write hf://ORGANIZATION/NAME"),
        ("hf://org/c d", "is no name of a dataset or model, got 'hf://org/c d'; write hf://ORGANIZATION/NAME"),
        ("https://host/folder/", "names a folder, and a web server has no list of its files, got 'https://host/f"),
        ("https://host/a#sha256=zz", "has the fragment #sha256=zz, which is no checksum, got 'https://host/a#sha"),
        ("https://ho st/a", "has a host with a space in it, got 'https://ho st/a'; see whether it is right"),
        ("file://data/x", "names the host data, got 'file://data/x'; write file:///data/x if you mean a path"),
        ("pvc://claim/../../etc", "leads out of the claim, got 'pvc://claim/../../etc'; write the path below it"),
        ("pvc://Bad_Claim/x", "names no claim, got 'pvc://Bad_Claim/x'; write the claim's name in lower case"),
        ("oci://host/Models/Tiny:1", "is no reference to an image or artifact, got 'oci://host/Models/Tiny:1'; w"),
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
    [
        {},
        None,
        *(
            {"storageUri": uri}
            for uri in (
                *(None, "", "HF://org/name@v1", "hf://name", "hf://name@refs/pr/1"),
                *(
                    "hf://org/name/data/train-*.parquet",
                    "hf://org/name/sub dir",
                    "pvc://claim/a/../b",
                ),
                *(
                    "https://host:8443/a%20b.csv?version=1#sha256=" + "0" * 64,
                    "file:///",
                    "pvc://claim",
                ),
                *("pvc://a.claim-1/..a/b..", "s3://bucket/a b", "gs://bucket", "az://container/x"),
                *("oci://host:5000/a/b:v1", "oci://host/a@sha256:" + "0" * 64),
            )
        ),
    ],
)
def test_what_is_not_given_and_what_is_known_is_right(given: Any) -> None:
    assert problems(OURS, dataset=given) == []


def test_an_initializer_of_another_image_may_know_other_schemes() -> None:
    assert problems(OF_ANOTHER_IMAGE, model={"storageUri": "ftp://host/model"}) == []
