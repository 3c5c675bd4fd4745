"""What is recognized as a folder of results, and what becomes of it."""

from typing import Any

import pytest

from trainer_infra.rules import tree, world
from trainer_infra.rules.data import output
from trainer_infra.rules.data.output import Fate, OutputJob

NOTHING = world.world_of(())


def job(**container: Any) -> OutputJob:
    volumes = [
        {"name": "kept", "persistentVolumeClaim": {"claimName": "kept"}},
        {"name": "scratch", "emptyDir": {}},
        {"name": "disk", "hostPath": {"path": "/disk"}},
    ]
    pod = {"containers": [{"name": "node", **container}], "volumes": volumes}
    replicated = {"name": "node", "template": {"spec": {"template": {"spec": pod}}}}
    claims = [{"templates": [{"metadata": {"name": "claimed"}}]}]
    spec = {"replicatedJobs": [replicated], "volumeClaimPolicies": claims}
    (subject,) = tree.subjects_of([{"kind": "JobSet", "spec": spec}])
    (found,) = output.jobs(subject)
    return found


def folders(**container: Any) -> list[str]:
    value = job(**container).container.value
    return [each.folder for each in output.outputs(value, output.VARIABLES, output.OPTIONS)]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--output_dir", "/a"], ["/a"]),
        (["--output-dir=/a"], ["/a"]),
        (["output_dir=/a", "checkpointer.checkpoint_dir=/model"], ["/a"]),
        (["bash", "-c", "python train.py --save_dir '/a' && x"], ["/a"]),
        (["bash", "-c", "output_dir=/a python train.py"], []),
        (["bash", "-c", "export OUTPUT_DIR=/a; python train.py"], ["/a"]),
        (["trainer.default_local_dir=/a", "checkpointer.output_dir=/b"], ["/a", "/b"]),
        (["--output_dir"], []),
        (["--verbose", "--data", "/a"], []),
    ],
)
def test_an_argument_may_name_the_folder(arguments: list[str], expected: list[str]) -> None:
    assert folders(args=arguments) == expected


def test_a_variable_may_name_the_folder() -> None:
    env = [{"name": "OUTPUT_DIR", "value": "s3://a"}, {"name": "HOME", "value": "/b"}]
    assert folders(env=env) == ["s3://a"]


@pytest.mark.parametrize(
    ("folder", "expected"),
    [
        ("/kept/run", Fate.KEPT),
        ("/kept/tmp/run", Fate.LOST),
        ("/keptnot", Fate.LOST),
        ("/claimed", Fate.KEPT),
        ("/disk/run", Fate.MACHINE),
        ("/nowhere", Fate.OPEN),
        ("run", Fate.OPEN),
        ("$HOME/run", Fate.OPEN),
        ("gs://bucket/run", Fate.KEPT),
        ("file:///kept", Fate.LOST),
    ],
)
def test_the_fate_of_a_folder(folder: str, expected: Fate) -> None:
    mounts = [
        {"name": "kept", "mountPath": "/kept/"},
        {"name": "scratch", "mountPath": "/kept/tmp"},
        {"name": "claimed", "mountPath": "/claimed"},
        {"name": "disk", "mountPath": "/disk"},
        {"name": "nowhere", "mountPath": "/nowhere"},
    ]
    assert output.fate(folder, job(volumeMounts=mounts), NOTHING) is expected


def test_a_relative_folder_is_in_the_working_folder() -> None:
    mounts = [{"name": "kept", "mountPath": "/kept"}]
    assert output.fate("run", job(volumeMounts=mounts, workingDir="/kept"), NOTHING) is Fate.KEPT
    assert output.fate("run", job(), NOTHING) is Fate.LOST
