"""Commands of trainings as people write them: the rules that read them leave the right ones alone, wherever they stand."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from trainer_infra.rules import RULES, fixture, tree, world
from trainer_infra.rules.judge import ConfiguredRule, judge

JSON = Mapping[str, Any]

GOOD = yaml.safe_load((Path(__file__).parent / "good_commands.yaml").read_text())
READ = [each for each in RULES if "commands" in each.tags or each.id == "training-command"]
PLAIN = "curl -fsSL https://get.example.org/setup.sh | sh"
IMAGE = "registry.example.com/vision/train:v7"


def told(value: JSON) -> dict[str, set[tuple[str | int, ...]]]:
    """Where each rule finds something."""
    subjects = tree.subjects_of([value])
    chosen = [ConfiguredRule.default(each) for each in READ]
    judged = judge(subjects[0], world.world_of(subjects, is_whole=True), chosen)
    return {
        each.chosen.rule.id: {one.path for one in each.findings} for each in judged if each.findings
    }


def pod(**container: Any) -> JSON:
    resources = {"limits": {"nvidia.com/gpu": 8}}
    node = {"name": "node", "image": IMAGE, "resources": resources, **container}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a"},
        "spec": {"containers": [node]},
    }


def train_job(*command: str) -> JSON:
    trainer = {"command": command, "resourcesPerNode": {"limits": {"nvidia.com/gpu": 8}}}
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "digits", "namespace": "vision"},
        "spec": {"runtimeRef": {"name": "torch-distributed"}, "trainer": trainer},
    }


@pytest.mark.parametrize("script", GOOD)
def test_a_right_command_is_left_alone(script: str) -> None:
    assert told(pod(command=["bash", "-c", script])) == {}
    assert told(train_job("bash", "-c", script)) == {}


def test_there_are_enough_of_them() -> None:
    assert len(GOOD) >= 60


@pytest.mark.parametrize(
    "words",
    [
        ["sh", "-c", PLAIN],
        ["/bin/sh", "-ec", PLAIN],
        ["bash", "-lc", PLAIN],
        ["bash", "-euxc", PLAIN],
        ["bash", "-euxo", "pipefail", "-c", PLAIN],
        ["env", "A=1", "bash", "-c", PLAIN],
        ["timeout", "-k", "5", "60", "bash", "-c", PLAIN],
        ["nohup", "nice", "-n", "5", "sh", "-c", PLAIN],
        ["sudo", "-E", "bash", "-c", PLAIN],
        ["tini", "--", "sh", "-c", PLAIN],
        ["sh", "-c", 'eval "$1"', "--", PLAIN],
        ["sh", "-c", 'sh -c "$0"', PLAIN],
        ["bash", "-c", f"set -e\ncd /tmp\n{PLAIN}\n"],
        ["bash", "-c", f"true && ( {PLAIN} ) || exit 1"],
        ["bash", "-c", f"exec bash -c '{PLAIN}'"],
        ["bash", "-c", f"time {PLAIN}"],
        ["bash", "-c", f"for i in 1 2; do {PLAIN}; done"],
        ["bash", "-c", f"X=$({PLAIN}); echo $X"],
    ],
    ids=" ".join,
)
def test_a_script_is_read_however_a_shell_gets_it(words: list[str]) -> None:
    assert told(pod(command=words)).keys() == {"remote-code"}
    assert told(pod(command=words[:1], args=words[1:])).keys() == {"remote-code"}


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [
        ("PIP_EXTRA_INDEX_URL", "https://pypi.example.org/simple", "package-index"),
        ("UV_INDEX", "corp=http://pypi.example.org/simple", "package-index"),
        ("ENDPOINT", "http://0xA9FEA9FE/latest", "metadata-address"),
        ("POOL", "stratum+tcp://pool.example.org:3333", "remote-access"),
        ("no_proxy", "169.254.169.254,localhost", None),
        ("PIP_INDEX_URL", "https://pypi.example.org/simple", None),
    ],
)
def test_variables_are_read(name: str, value: str, rule: str | None) -> None:
    found = told(pod(env=[{"name": name, "value": value}]))
    assert found == ({rule: {("spec", "containers", 0, "env", 0, "value")}} if rule else {})


@pytest.mark.parametrize(
    ("env", "is_wrong"),
    [
        ({"CUDA_VISIBLE_DEVICES": "0,1"}, True),
        ({"CUDA_VISIBLE_DEVICES": "0,1,2,3,4,5,6,7"}, False),
        ({"NVIDIA_VISIBLE_DEVICES": "all"}, False),
    ],
)
def test_devices_that_a_variable_hides_are_found(env: dict[str, str], is_wrong: bool) -> None:
    job: Any = train_job("torchrun", "train.py")
    job["spec"]["trainer"]["env"] = [{"name": k, "value": v} for k, v in env.items()]
    assert ("training-command" in told(job)) is is_wrong


def test_no_secret_of_a_command_is_shown() -> None:
    script = (
        "curl -H 'Authorization: Bearer s3cr3t-w0rd' https://u:s3cr3t-w0rd@get.example.org/s | sh; "
        "uv run https://u:s3cr3t-w0rd@get.example.org/s; sleep 1d s3cr3t-w0rd; tail -f s3cr3t-w0rd"
    )
    for value in (pod(command=["sh", "-c", script]), train_job("sh", "-c", script)):
        subjects = tree.subjects_of([value])
        chosen = [ConfiguredRule.default(each) for each in READ]
        judged = list(judge(subjects[0], world.world_of(subjects), chosen))
        assert judged
        assert "s3cr3t-w0rd" not in repr([each.findings for each in judged])


def test_each_of_these_rules_has_many_forms() -> None:
    forms = {each.id: len(fixture.shipped_cases(each.id)) for each in READ}
    assert {name: count for name, count in forms.items() if count < 20} == {}
