"""URIs that our initializers refuse are refused by the preview."""

from typing import Any

import pytest

from trainer_infra import catalog
from trainer_infra.trainers.initializer_uris import seen_folders, unreadable_uris

OURS = catalog.get("torch-distributed-with-initializers")
OF_ANOTHER_IMAGE = catalog.get("torchtune-llama3.2-1b")


def problems(runtime: Any, **initializer: Any) -> list[str]:
    return [str(each) for each in unreadable_uris({"spec": {"initializer": initializer}}, runtime)]


@pytest.mark.parametrize(
    ("uri", "said"),
    [
        ("ftp://host/data", "has the unknown scheme ftp://, got 'ftp://host/data'; did you mean https://?"),
        ("s3a://bucket/data", "has the unknown scheme s3a://, got 's3a://bucket/data'; did you mean s3://?"),
        ("hf:/org/model", "is not a URI, got 'hf:/org/model'; write it as scheme://place/path"),
        ("data/words.csv", "is not a URI, got 'data/words.csv'; write it as scheme://place/path"),
        ("s3:///data", "names nothing after s3://, got 's3:///data'; write s3://BUCKET/FOLDER"),
        ("htps://user:planted@host/data", "has the unknown scheme htps://; did you mean https://?"),
        ("https://user:planted@host/data", "has credentials in it, and everybody who may read the TrainJob sees"),
        ("htps://host/data?sig=planted", "has the unknown scheme htps://; did you mean https://?"),
        ("hf://a b/c", "'a b/c' is not a name of a {field}, got 'hf://a b/c'; write hf://ORGANIZATION/NAME"),
        ("hf://org/c d", "'org/c d' is not a name of a {field}, got 'hf://org/c d'; write hf://ORGANIZATION/NAME"),
        ("https://host/folder/", "names a folder, and a web server has no list of its files, got 'https://host/f"),
        ("https://host/a#sha256=zz", "has the fragment #sha256=zz, which is not a checksum, got 'https://host/a#sha"),
        ("https://ho st/a", "has a host with a space in it, got 'https://ho st/a'; see whether it is right"),
        ("file://data/x", "names the host data, got 'file://data/x'; write file:/// and the whole path; file:///data/x is one from the root"),
        ("file://~/x", "names the host ~, got 'file://~/x'; write file:/// and the whole path; "),
        ("file:///~/x", "names no folder, got 'file:///~/x'; write file:/// and the whole path, without ~"),
        ("file:///", "names no folder, got 'file:///'; write file:/// and the whole path"),
        ("/data/x y", "is not a URI, got '/data/x y'; write file:///data/x y"),
        ("./data", "is not a URI, got './data'; write file:/// and the whole path"),
        ("~/data", "is not a URI, got '~/data'; write file:/// and the whole path"),
        ("hf://org/name@", "names no revision after @; write a branch, a tag or a commit after @"),
        ("hf://org/name@two words", "names the revision 'two words'; write a branch"),
        ("hf://org/name@a..b", "names the revision 'a..b'; write a branch"),
        ("hf://datasets/org/name", "has datasets/ in it, as web pages have, got 'hf://datasets/org/name'; write"),
        ("hf://huggingface.co/org/name", "has huggingface.co/ in it, as web pages have, got 'hf"),
        ("hf://org/name.git", "ends with .git, got 'hf://org/name.git'; write hf://org/name"),
        ("hf://org/-name", "'org/-name' is not a name of a {field}, got 'hf://org/-name'; write"),
        ("hf://user:planted@org/name", ""),
        ("s3://my bucket/x", "has no name that a bucket can have, got 's3://my bucket/x'; write s3://BUCKET/F"),
        ("s3://user:planted@bucket/x", "has no name that a bucket can have; write s3://BUCKET/FOLDER"),
        ("s3://minio:9000/bucket", "has no name that a bucket can have, got 's3://minio:9000/bucket'; write s3:"),
        ("gs://-bucket/x", "has no name that a bucket can have, got 'gs://-bucket/x'; write gs://BUCKET/FOLDER"),
        ("az://box@account.blob.core.windows.net/x", "has no name that a bucket can have; write az://CONTAINER"),
        ("pvc://claim/a/%2e%2e/../x", "leads out of the claim, got 'pvc://claim/a/%2e%2e/../x'; write the path"),
        ("oci://re gistry/a:1", "has no host, got 'oci://re gistry/a:1'; write oci://REGISTRY/REPOSITORY:TAG"),
        ("pvc://claim/../../etc", "leads out of the claim, got 'pvc://claim/../../etc'; write the path below it"),
        ("pvc://Bad_Claim/x", "names no claim, got 'pvc://Bad_Claim/x'; write the claim's name in lower case"),
        ("oci://host/Models/Tiny:1", "is not a reference to an image or artifact, got 'oci://host/Models/Tiny:1'; w"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("field", ["dataset", "model"])
def test_what_its_program_would_refuse_is_said_with_the_field(
    field: str, uri: str, said: str
) -> None:
    (problem,) = problems(OURS, **{field: {"storageUri": uri}})
    said = said.replace("{field}", field)
    assert problem.startswith(f"spec.initializer.{field}.storageUri: {said}")
    assert "planted" not in problem


@pytest.mark.parametrize(
    ("field", "uri", "said"),
    [
        ("dataset", "hf://onlyrepo", "names no organization, which each dataset has, got 'hf://onlyrepo'; write"),
        ("dataset", "hf://onlyrepo@v1", "names no organization, which each dataset has; write hf://ORGANIZATION"),
        ("dataset", "hf://onlyrepo/", "names no organization, which each dataset has, got 'hf://onlyrepo/'; write"),
        ("model", "hf://org/model/sub", "'org/model/sub' is not a name of a model, got 'hf://org/model/sub'; write hf:"),
        ("model", "hf://org/model/sub@v1", "'org/model/sub' is not a name of a model; write hf://ORGANIZATION/NAME"),
        ("model", "hf://org/model/@v1", "'org/model/' is not a name of a model; write hf://ORGANIZATION/NAME"),
    ],
)  # fmt: skip
def test_what_a_name_of_the_hub_is_depends_on_what_it_names(
    field: str, uri: str, said: str
) -> None:
    (problem,) = problems(OURS, **{field: {"storageUri": uri}})
    assert problem.startswith(f"spec.initializer.{field}.storageUri: {said}")
    other = "model" if field == "dataset" else "dataset"
    assert problems(OURS, **{other: {"storageUri": uri}}) == []


def test_a_volume_at_the_target_itself_is_said_for_what_a_program_sees_in_it() -> None:
    wire = OURS.to_wire()
    for each in wire["spec"]["template"]["spec"]["replicatedJobs"]:
        (container,) = each["template"]["spec"]["template"]["spec"]["containers"]
        container["volumeMounts"][0]["mountPath"] = "/workspace/dataset"
    runtime = type(OURS).from_wire(wire)
    given = {"spec": {"initializer": {"dataset": {"storageUri": "hf://org/words"}}}}
    (sentence,) = seen_folders(given, runtime)
    assert (
        "dataset-initializer keeps its own files in /workspace/dataset/.trainer-infra" in sentence
    )
    assert sentence.endswith("mount the volume at /workspace")
    assert list(seen_folders(given, OURS)) == []
    assert list(seen_folders({"spec": {}}, runtime)) == []


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
                *(None, "", "HF://org/name@v1", "hf://org/name/", "hf://org/name@refs/pr/1"),
                *(
                    "hf://org/name/data/train-*.parquet",
                    "hf://org/name/sub dir",
                    "pvc://claim/a/../b",
                ),
                *(
                    "https://host:8443/a%20b.csv?version=1#sha256=" + "0" * 64,
                    "file:///data/a b/",
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
