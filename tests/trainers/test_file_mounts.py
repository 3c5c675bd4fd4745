"""`files`: content of Secrets and ConfigMaps at paths of a pod."""

from typing import Any

import pytest

from tests.trainers.conftest import RUNTIME, Problems, Write
from trainer_infra import CustomTrainer, Secret
from trainer_infra.trainers import code_mount
from trainer_infra.trainers.code import Code
from trainer_infra.trainers.trainer import PackedProgram

OWN = "/etc/team/key.json"
THEIRS = "/etc/team/settings.ini"
CONFIG = {"configMapKeyRef": {"name": "settings", "key": "a.ini", "optional": True}}


@pytest.fixture
def packed(write: Write) -> PackedProgram:
    write("train.py", "x = 1\n")
    return CustomTrainer("train.py", files={THEIRS: CONFIG, OWN: Secret("s3cr3t-value")}).pack()


def pod_of(code: Code) -> Any:
    job = {"metadata": {"name": "digits", "namespace": "team"}, "spec": {}}
    attached, _ = code_mount.attach_code(job, RUNTIME, code)
    (patch,) = attached["spec"]["runtimePatches"]
    (node,) = patch["trainingRuntimeSpec"]["template"]["spec"]["replicatedJobs"]
    return node["template"]["spec"]["template"]["spec"]


def test_each_file_is_a_volume_with_one_key(packed: PackedProgram) -> None:
    pod = pod_of(packed.code)
    own, theirs = (
        {"name": each["name"], "mountPath": each["mountPath"]}
        for each in pod["containers"][0]["volumeMounts"][1:]
    )
    assert [own["mountPath"], theirs["mountPath"]] == [OWN, THEIRS]
    assert all(each["subPath"] in OWN + THEIRS for each in pod["containers"][0]["volumeMounts"][1:])
    (key,) = packed.secret_data
    assert pod["volumes"][1:] == [
        {
            "name": own["name"],
            "secret": {"secretName": "digits-secret", "items": [{"key": key, "path": "key.json"}]},
        },
        {
            "name": theirs["name"],
            "configMap": {
                "name": "settings",
                "items": [{"key": "a.ini", "path": "settings.ini"}],
                "optional": True,
            },
        },
    ]
    assert own["name"] != theirs["name"]


def test_a_secret_is_in_no_other_place_and_its_value_is_no_other_run(
    packed: PackedProgram,
) -> None:
    assert "s3cr3t" not in repr((packed.code, packed.trainer))
    assert list(packed.secret_data.values()) == ["s3cr3t-value"]
    assert Code.from_wire(packed.code.to_wire()) == packed.code
    again = CustomTrainer("train.py", files={OWN: Secret("other"), THEIRS: CONFIG}).pack()
    assert again.code == packed.code
    moved = CustomTrainer("train.py", files={OWN: Secret("other")}).pack()
    assert moved.code.of_the_user() != packed.code.of_the_user()


def test_what_cannot_be_mounted_is_said(write: Write, problems: Problems) -> None:
    write("train.py", "x = 1\n")
    forms = 'give Secret("..."), {"secretKeyRef": {"name": ..., "key": ...}} or {"configMapKeyRef": {...}}'
    fix = "give the absolute path of a file, such as /etc/team/key.json"
    wrong: dict[str, Any] = {
        "key.json": Secret("x"),
        "/etc/../key": Secret(1),
        "/opt/trainer-infra/code/main.py": Secret("x"),
        "/a": "text",
        "/b": {"secretKeyRef": {"name": "x"}},
        "/c": {"fieldRef": {"name": "x", "key": "y"}},
    }
    assert problems(CustomTrainer("train.py", files=wrong)) == [
        f"files['key.json']: is not a path of a file, got 'key.json'; {fix}",
        f"files['/etc/../key']: is not a path of a file, got '/etc/../key'; {fix}",
        (
            "files['/etc/../key']: a secret variable is text, and this Secret holds a number; give it "
            'text, as Secret("...")'
        ),
        (
            "files['/opt/trainer-infra/code/main.py']: is in the folder of trainer_infra itself; use "
            "another one"
        ),
        f"files['/a']: must say where the file's content comes from, not hold the content itself; {forms}",
        (
            "files['/b']: must say where the file's content comes from, got {'secretKeyRef': {'name': 'x'}}; "
            f"{forms}"
        ),
        (
            "files['/c']: must say where the file's content comes from, got {'fieldRef': {'name': 'x', 'key': 'y'}}; "
            f"{forms}"
        ),
    ]
    assert problems(CustomTrainer("train.py", files=[1])) == [  # type: ignore[arg-type]  # wrong on purpose
        "files: must be a mapping with text keys, got [1]"
    ]
