"""Code and secrets in a TrainJob, and the objects beside it."""

import ast
import copy
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.trainers.conftest import RUNTIME, WIRE, Write
from trainer_infra import catalog, in_pod, names
from trainer_infra.api.base import ObjectMeta
from trainer_infra.api.runtime import (
    ClusterTrainingRuntime,
    MLPolicy,
    TrainingRuntime,
    TrainingRuntimeSpec,
)
from trainer_infra.errors import InvalidInput
from trainer_infra.trainers import code_mount
from trainer_infra.trainers.code import Code
from trainer_infra.trainers.custom.custom_trainer import CustomTrainer
from trainer_infra.trainers.trainer import PackableTrainer

IN_POD = Path(in_pod.__file__).parent
INIT = ("python3", "/opt/trainer-infra/code/init.py")
CODE = Code({"main.py": "x", "source/a b.py": "y", "..c": "z"}, ("b==1",), secret_args=False)


def job(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "digits", "namespace": "team"}, "spec": spec}


def torch() -> ClusterTrainingRuntime:
    wire = copy.deepcopy(WIRE)
    wire["spec"]["mlPolicy"]["torch"] = {}
    return ClusterTrainingRuntime.from_wire(wire)


def test_command_mounts_and_config_map() -> None:
    given = job(
        runtimePatches=[{"manager": "a.b/c"}], trainer={"env": [{"name": "A", "value": "1"}]}
    )
    before = copy.deepcopy(given)
    attached, objects = code_mount.attach_code(given, RUNTIME, CODE)
    name = f"digits-code-{CODE.digest()}"
    items = [
        {"key": "afab2938-..c", "path": "..c"},
        {"key": "main.py", "path": "main.py"},
        {"key": "source_a_b.py", "path": "source/a b.py"},
    ]
    pod = {
        "volumes": [{"name": "trainer-infra-code", "configMap": {"name": name, "items": items}}],
        "containers": [
            {
                "name": "node",
                "volumeMounts": [
                    {
                        "name": "trainer-infra-code",
                        "mountPath": "/opt/trainer-infra/code",
                        "readOnly": True,
                    }
                ],
            }
        ],
    }
    replicated = [{"name": "node", "template": {"spec": {"template": {"spec": pod}}}}]
    patch = {
        "manager": "trainer.kubeflow.org/trainer-infra",
        "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": replicated}}},
    }
    assert attached["metadata"].pop("annotations") == {
        names.PACKAGES: json.dumps(list(CODE.packages))
    }
    assert attached == job(
        trainer={
            "env": [{"name": "A", "value": "1"}],
            "command": [*INIT, "python", "/opt/trainer-infra/code/main.py"],
        },
        runtimePatches=[{"manager": "a.b/c"}, patch],
    )
    assert objects == (
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": "team"},
            "immutable": True,
            "data": {"afab2938-..c": "z", "main.py": "x", "source_a_b.py": "y"},
        },
    )
    assert given == before


def test_torch_runs_under_torchrun() -> None:
    attached, _ = code_mount.attach_code(job(), torch(), CODE)
    assert attached["spec"]["trainer"] == {
        "command": [*INIT, "torchrun", "/opt/trainer-infra/code/main.py"]
    }


def test_mpi_starts_the_code_on_every_rank_with_the_users_variables() -> None:
    runtime = catalog.get("deepspeed-distributed")
    given = job(trainer={"env": [{"name": "A", "value": "1"}]})
    attached, _ = code_mount.attach_code(given, runtime, Code({}, (), secret_args=True))
    spec = attached["spec"]
    assert spec["trainer"]["command"] == [
        *(*INIT, "mpirun", "-x", "A", "-x", "TRAINER_INFRA_SECRET_ARGS"),
        *("python", "/opt/trainer-infra/code/main.py"),
    ]
    patched = spec["runtimePatches"][0]["trainingRuntimeSpec"]["template"]["spec"]
    mounted = {
        each["name"]: [mount["name"] for mount in _pod(each)["containers"][0]["volumeMounts"]]
        for each in patched["replicatedJobs"]
    }
    both = ["trainer-infra-code", "trainer-infra-secret"]
    assert mounted == {"launcher": both, "node": both}


def _pod(replicated_job: dict[str, Any]) -> dict[str, Any]:
    pod: dict[str, Any] = replicated_job["template"]["spec"]["template"]["spec"]
    return pod


def test_secret_arguments_are_one_file_of_the_jobs_own_secret() -> None:
    attached, _ = code_mount.attach_code(job(), RUNTIME, Code({}, (), secret_args=True))
    spec = attached["spec"]
    path = "/opt/trainer-infra/secret/secret_args.json"
    assert spec["trainer"]["env"] == [{"name": "TRAINER_INFRA_SECRET_ARGS", "value": path}]
    patched = spec["runtimePatches"][0]["trainingRuntimeSpec"]["template"]["spec"]
    pod = patched["replicatedJobs"][0]["template"]["spec"]["template"]["spec"]
    items = [{"key": "secret_args.json", "path": "secret_args.json"}]
    assert pod["volumes"][1] == {
        "name": "trainer-infra-secret",
        "secret": {"secretName": "digits-secret", "items": items},
    }
    assert pod["containers"][0]["volumeMounts"][1] == {
        "name": "trainer-infra-secret",
        "mountPath": "/opt/trainer-infra/secret",
        "readOnly": True,
    }


def test_the_own_secret_gets_its_name_everywhere() -> None:
    own = {"name": names.OWN_SECRET, "key": "env.A"}
    other = {"name": "other", "key": "env.A"}
    given = job(
        trainer={"command": ["kept"], "env": [{"name": "A", "valueFrom": {"secretKeyRef": own}}]},
        initializer={"dataset": {"secretRef": {"name": names.OWN_SECRET}}},
        runtimePatches=[{"deep": [{"secretKeyRef": other}, {"secretKeyRef": own}]}],
    )
    attached, objects = code_mount.attach_code(given, RUNTIME, None)
    named = {"name": "digits-secret", "key": "env.A"}
    assert attached == job(
        trainer={"command": ["kept"], "env": [{"name": "A", "valueFrom": {"secretKeyRef": named}}]},
        initializer={"dataset": {"secretRef": {"name": "digits-secret"}}},
        runtimePatches=[{"deep": [{"secretKeyRef": other}, {"secretKeyRef": named}]}],
    )
    assert objects == ()


def test_a_runtime_without_a_trainer_is_refused() -> None:
    spec = TrainingRuntimeSpec(ml_policy=MLPolicy(num_nodes=1))
    runtime = TrainingRuntime(metadata=ObjectMeta(name="odd"), spec=spec)
    with pytest.raises(InvalidInput) as caught:
        code_mount.attach_code(job(), runtime, CODE)
    assert str(caught.value) == (
        "TrainingRuntime odd: spec.template.spec.replicatedJobs: no replicated job with the label "
        "trainer.kubeflow.org/trainjob-ancestor-step=trainer has a container named node, so there "
        "is nothing to run the code in; choose a training runtime, or add the label and the "
        "container to this one"
    )


def test_the_secret_shows_keys_only() -> None:
    assert code_mount.secret_object({"name": "digits"}, ["b", "a"]) == {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "digits-secret"},
        "type": "Opaque",
        "stringData": {"a": "<secret>", "b": "<secret>"},
    }


def test_code_survives_the_wire_and_keeps_its_digest() -> None:
    assert Code.from_wire(CODE.to_wire()) == CODE
    script = (
        "from trainer_infra.trainers.code import Code; "
        f"print(Code.from_wire({CODE.to_wire()!r}).digest())"
    )
    env = {"PYTHONHASHSEED": "7"}
    other = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, env=env
    )
    assert other.stdout.strip() == CODE.digest() == "2449adba"
    assert (
        Code({**CODE.files, "main.py": "y"}, ("b==1",), secret_args=False).digest() != CODE.digest()
    )


def test_custom_trainer_is_a_trainer_and_a_mapping_in_wire_form_is_none() -> None:
    trainer: PackableTrainer = CustomTrainer("train.py")
    assert isinstance(trainer, PackableTrainer)
    assert not isinstance({"image": "python:3.11"}, PackableTrainer)


def test_a_new_launcher_is_the_same_work(write: Write) -> None:
    file = write("train.py", "x = 1\n")
    born = CustomTrainer("train.py").pack().code
    newer = Code(
        {**born.files, "main.py": "new", "lib/trainer_infra/report.py": "new"},
        (),
        secret_args=False,
    )
    assert born.of_the_user() == newer.of_the_user()
    file.write_text("x = 2\n")
    other = CustomTrainer("train.py").pack().code
    assert born.of_the_user() != other.of_the_user()
    locked = Code(born.files, ("a==1",), secret_args=False)
    assert born.of_the_user() != locked.of_the_user()


def test_keys_are_legal_and_different() -> None:
    paths = ["a/b", "a_b", "a b", "_0-a_b", "x" * 300, "ü/ü", "..x", "main.py"]
    _, (config_map,) = code_mount.attach_code(
        job(), RUNTIME, Code(dict.fromkeys(paths, ""), (), secret_args=False)
    )
    keys = list(config_map["data"])
    assert len(keys) == len(paths)
    assert all(re.fullmatch(r"[-._a-zA-Z0-9]{1,253}", key) and key[:2] != ".." for key in keys)


def test_the_launcher_knows_the_same_names() -> None:
    assert f'"{names.SECRET_ARGS}"' in (IN_POD / "main.py").read_text("utf-8")


def test_what_runs_in_unknown_images_keeps_to_old_syntax() -> None:
    files = sorted(IN_POD.rglob("*.py"))
    assert [path.name for path in files if not keeps_to_old_syntax(path)] == []
    assert files


def keeps_to_old_syntax(path: Path) -> bool:
    """Whether Python 3.9 reads it, and no annotation is evaluated there.

    Raises:
        SyntaxError: It does not; with the file and the line.
    """
    text = path.read_text("utf-8")
    tree = ast.parse(text, str(path), feature_version=(3, 9))
    annotated = any(isinstance(node, ast.FunctionDef | ast.AnnAssign) for node in ast.walk(tree))
    return not annotated or "from __future__ import annotations" in text


def test_a_function_that_only_moved_in_its_file_is_the_same_work() -> None:
    born, moved, other = (
        Code({"source/train.py": text}, (), secret_args=False)
        for text in (
            "\n\ndef train():\n    pass\n",
            "\ndef train():\n    pass\n",
            "\n\ndef train():\n",
        )
    )
    assert born.of_the_user() == moved.of_the_user()
    assert born.of_the_user() != other.of_the_user()
    future = "from __future__ import annotations\n"
    lazy, further = (
        Code({"source/train.py": future + text}, (), secret_args=False)
        for text in ("\n\ndef train(): ...", "\n\n\ndef train(): ...")
    )
    assert lazy.of_the_user() == further.of_the_user()


def test_code_that_needs_a_framework_is_refused_on_a_runtime_without_it() -> None:
    needing = Code(CODE.files, (), secret_args=False, policies=("torch", "mpi"))
    with pytest.raises(InvalidInput) as caught:
        code_mount.attach_code(job(), RUNTIME, needing)
    assert str(caught.value) == (
        "spec.runtimeRef.name: is not a runtime for this trainer, which needs torch or mpi in the "
        "runtime's mlPolicy, got 'plain'; choose one of `trainer-infra catalog`, such as "
        "torch-distributed"
    )
    code_mount.attach_code(job(), torch(), needing)
    assert Code.from_wire(needing.to_wire()) == needing
