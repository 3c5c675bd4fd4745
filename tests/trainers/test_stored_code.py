"""A folder that no ConfigMap holds: what is packed of it, which run it makes, and what pods get."""

import hashlib
import io
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from tests.trainers.conftest import RUNTIME, Problems, Write
from trainer_infra import catalog, names
from trainer_infra.api.runtime import ClusterTrainingRuntime
from trainer_infra.cluster.unsupported_fields import of_engine_controller
from trainer_infra.errors import NotAvailable
from trainer_infra.json_values import JSONObject
from trainer_infra.trainers import compose
from trainer_infra.trainers.code import Code
from trainer_infra.trainers.custom import folder, stored_code
from trainer_infra.trainers.custom.custom_trainer import CustomTrainer

STORE = "s3://bucket/code"


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRAINER_INFRA_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def app(write: Write) -> Write:
    """A folder with a binary file; writes into it."""
    write("app/main.py", "print(1)\n")
    write("app/deep/b.txt", "b")
    Path("app/weights.bin").write_bytes(b"\xff\xfe\x00")
    return write


def packed(**fields: Any) -> Code:
    return CustomTrainer("app:main.py", **{"code_at": STORE, **fields}).pack().code


def test_the_files_are_one_tar_named_by_its_hash(app: Write) -> None:
    app("app/.trainerignore", "deep/\n")
    stored = packed().stored
    assert stored is not None
    (file,) = stored_code.kept_folder().iterdir()
    content = file.read_bytes()
    assert stored.address == f"{STORE}/{hashlib.sha256(content).hexdigest()}.tar"
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        found = {each.name: (each.mtime, archive.extractfile(each)) for each in archive}
        assert {name: file.read() for name, (_, file) in found.items() if file} == {
            "main.py": b"print(1)\n",
            "weights.bin": b"\xff\xfe\x00",
        }
        assert {each for each, _ in found.values()} == {0}
    assert not any(each.startswith("source/") for each in packed().files)


def test_what_a_config_map_holds_is_in_one(app: Write) -> None:
    Path("app/weights.bin").unlink()
    here = CustomTrainer("app:main.py").pack().code
    assert packed() == here
    assert not stored_code.kept_folder().exists()
    app("app/data.csv", "x" * folder.LIMIT)
    assert packed().stored


def test_content_makes_another_run_and_nothing_else_does(app: Write) -> None:
    before = packed()
    app("app/main.py", "# says why\nprint(1)\n")
    commented = packed(code_at="gs://other", code_secret="keys", code_image="an/image")
    assert commented.of_the_user() == before.of_the_user()
    assert commented.stored != before.stored
    Path("app/weights.bin").write_bytes(b"\xff\xfe\x01")
    assert packed().of_the_user() != before.of_the_user()


def test_it_is_read_back_from_a_state(app: Write) -> None:
    app("app/more.txt", "")
    code = packed(code_secret="keys", code_image="an/image")
    assert Code.from_wire(json.loads(json.dumps(code.to_wire()))) == code
    assert len(json.dumps(code.to_wire()["stored"])) < 500


def test_what_no_store_can_be_is_refused(app: Write, problems: Problems) -> None:
    app("app/more.txt", "")
    forms = f"write {stored_code.FORMS}"
    for given in (
        "bucket/code",
        "s3://",
        "s3:///code",
        "https://host/x",
        "file://host/x",
        "pvc://a/b",
        3,
    ):
        fields: Any = {"code_at": given}
        said = f"code_at: is not an address of a store, got {given!r}; {forms}"
        assert problems(CustomTrainer("app:main.py", **fields)) == [said]
    (said,) = problems(CustomTrainer("app:main.py", code_at="s3://me:pass-word@bucket/x"))
    assert "pass-word" not in said
    assert problems(CustomTrainer("app:main.py", code_at=STORE, code_secret="My Keys")) == [
        "code_secret: is not a name of a Secret, got 'My Keys'"
    ]


def test_what_a_store_cannot_hold_either_is_refused(
    app: Write, problems: Problems, monkeypatch: pytest.MonkeyPatch
) -> None:
    app("app/main.py", "def fit(text): pass\n")
    large: Any = {"text": "x" * folder.LIMIT}
    trainer = CustomTrainer("app:main.py:fit", func_args=large, code_at=STORE)
    (said,) = problems(trainer)
    assert "over a ConfigMap's limit of 1.0 MiB; largest: args.json (1.0 MiB)" in said
    Path("app/latin.py").write_bytes("# é\n".encode("latin-1"))
    assert problems(CustomTrainer("app:main.py", code_at=STORE))[0].startswith(
        "app/latin.py: train: is not UTF-8 text"
    )
    Path("app/latin.py").unlink()
    monkeypatch.setattr(folder, "STORED_LIMIT", 1000)
    app("app/data.csv", "x" * 2000)
    (said,) = problems(CustomTrainer("app:main.py", code_at=STORE))
    assert "over a store's limit of 1000 bytes" in said


def rendered(code: Code, runtime: ClusterTrainingRuntime = RUNTIME) -> dict[str, JSONObject]:
    """Pod of each replicated job."""
    job = {
        "apiVersion": names.API_VERSION,
        "kind": names.TRAIN_JOB,
        "metadata": {"name": "digits", "namespace": "team"},
        "spec": {"runtimeRef": {"name": runtime.metadata.name}, "trainer": {}},
    }
    made = compose.compose(job, runtime, code, ())
    return {
        each["name"]: each["template"]["spec"]["template"]["spec"]
        for each in made.objects[-1]["spec"]["replicatedJobs"]
    }


def secured() -> ClusterTrainingRuntime:
    wire = RUNTIME.to_wire()
    (job,) = wire["spec"]["template"]["spec"]["replicatedJobs"]
    (node,) = job["template"]["spec"]["template"]["spec"]["containers"]
    node["resources"] = {"limits": {"cpu": 1}}
    node["securityContext"] = {
        "privileged": True,
        "runAsNonRoot": True,
        "capabilities": {"add": ["IPC_LOCK"], "drop": ["ALL"]},
    }
    return ClusterTrainingRuntime.from_wire(wire)


def test_pods_fetch_the_code_before_they_train(app: Write) -> None:
    app("app/more.txt", "")
    code = packed(code_secret="keys", code_image="an/image")
    assert code.stored
    pod = rendered(code, secured())["node"]
    assert pod["initContainers"] == [
        {
            "name": "code-initializer",
            "image": "an/image",
            "args": ["code"],
            "env": [{"name": "STORAGE_URI", "value": code.stored.address}],
            "envFrom": [{"secretRef": {"name": "keys"}}],
            "volumeMounts": [
                {"name": "trainer-infra-source", "mountPath": "/opt/trainer-infra/source"}
            ],
            "resources": {"limits": {"cpu": 1}},
            "securityContext": {"runAsNonRoot": True, "capabilities": {"drop": ["ALL"]}},
        }
    ]
    (node,) = pod["containers"]
    source = {"name": "TRAINER_INFRA_SOURCE", "value": "/opt/trainer-infra/source"}
    assert source in node["env"]
    assert {"name": "trainer-infra-source", "emptyDir": {}} in pod["volumes"]


def test_a_folder_of_the_machines_is_mounted(app: Write) -> None:
    app("app/more.txt", "")
    pod = rendered(packed(code_at="file:///mnt/team code".replace(" ", "%20")))["node"]
    assert {"name": "trainer-infra-store", "hostPath": {"path": "/mnt/team code"}} in pod["volumes"]
    (fetching,) = pod["initContainers"]
    assert fetching["image"] == "trainer-infra/initializer:0.1.0"
    mount = {"name": "trainer-infra-store", "mountPath": "/mnt/team code", "readOnly": True}
    assert mount in fetching["volumeMounts"]


def test_every_node_of_an_mpi_job_fetches_it(app: Write) -> None:
    app("app/more.txt", "")
    pods = rendered(packed(), catalog.get("deepspeed-distributed"))
    assert {name for name, pod in pods.items() if "initContainers" in pod} == {"launcher", "node"}
    (launcher,) = pods["launcher"]["containers"]
    assert "TRAINER_INFRA_SOURCE" in launcher["command"]


def test_kubeflows_controller_is_not_given_what_it_would_ignore(app: Write) -> None:
    app("app/more.txt", "")
    code = packed()
    made = compose.compose(
        {
            "apiVersion": names.API_VERSION,
            "kind": names.TRAIN_JOB,
            "metadata": {"name": "digits"},
            "spec": {"runtimeRef": {"name": "plain"}},
        },
        RUNTIME,
        code,
        (),
    )
    (said,) = of_engine_controller(made.job.to_wire(), (), names.UPSTREAM)
    assert "Kubeflow Trainer's controller ignores it" in str(said)
    assert of_engine_controller(made.job.to_wire(), (), names.BUILTIN) == ()


def test_a_cache_that_cannot_be_written_is_said(
    app: Write, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    app("app/more.txt", "")
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TRAINER_INFRA_CACHE", str(tmp_path / "file"))
    with pytest.raises(NotAvailable, match=r"cannot be written: .*; free space there, or set"):
        packed()
