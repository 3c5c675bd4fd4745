"""A TrainJob that cannot be rendered is judged by what it says itself, and the rest is said to be unseen."""

from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from trainer_infra import catalog, names
from trainer_infra.rules import RULES, tree, world
from trainer_infra.rules.judge import ConfiguredRule, RuleVerdict, judge
from trainer_infra.rules.rendering import REFERENCE

JSON = dict[str, Any]
Told = set[tuple[str, tuple[str | int, ...]]]

TRAINER: JSON = {
    "image": "odd.example.org/train:latest",
    "numNodes": 4,
    "resourcesPerNode": {"limits": {"nvidia.com/gpu": 4}},
}
POD: JSON = {
    "volumes": [{"name": "host", "hostPath": {"path": "/"}}],
    "containers": [{"name": "node", "securityContext": {"privileged": True}}],
}
_PATCH = (
    "spec",
    "runtimePatches",
    0,
    "trainingRuntimeSpec",
    "template",
    "spec",
    "replicatedJobs",
    0,
)
_POD = (*_PATCH, "template", "spec", "template", "spec")
OWN: Told = {
    ("image-registry", ("spec", "trainer", "image")),
    ("image-latest", ("spec", "trainer", "image")),
    ("gpu-quota", ("spec", "trainer", "numNodes")),
    ("host-path", (*_POD, "volumes", 0, "hostPath", "path")),
    ("privileged", (*_POD, "containers", 0, "securityContext", "privileged")),
}
PARAMETERS: Mapping[str, JSON] = {
    "image-registry": {"allow": ["registry.example.com"]},
    "gpu-quota": {"namespaces": {"vision": {"nvidia.com/gpu": 8}}},
}


def patch(pod: JSON) -> JSON:
    job = {"name": "node", "template": {"spec": {"template": {"spec": pod}}}}
    spec = {"template": {"spec": {"replicatedJobs": [job]}}}
    return {"manager": "example.com/patch", "trainingRuntimeSpec": spec}


def train_job(runtime: str, **spec: Any) -> JSON:
    return {
        "apiVersion": names.API_VERSION,
        "kind": names.TRAIN_JOB,
        "metadata": {"name": "digits", "namespace": "vision"},
        "spec": {
            "runtimeRef": {"name": runtime},
            "trainer": TRAINER,
            "runtimePatches": [patch(POD)],
        }
        | spec,
    }


def verdicts(job: JSON) -> list[RuleVerdict]:
    chosen = [
        ConfiguredRule(each, each.severity, each.parameters(**PARAMETERS.get(each.id, {})))
        for each in RULES
    ]
    (subject,) = tree.subjects_of([job])
    return list(judge(subject, world.world_of([subject]), chosen))


def told(job: JSON) -> Told:
    return {(each.chosen.rule.id, one.path) for each in verdicts(job) for one in each.findings}


def unseen(found: Iterable[RuleVerdict], path: tuple[str | int, ...]) -> set[str]:
    return {each.chosen.rule.id for each in found if path in each.unseen}


@pytest.mark.parametrize("runtime", ["torch-distributed", "elsewhere"])
def test_what_it_says_itself_is_judged_wherever_its_runtime_is(runtime: str) -> None:
    assert told(train_job(runtime)) >= OWN


def test_rules_that_look_at_pods_say_that_a_runtime_was_not_seen() -> None:
    blind = unseen(verdicts(train_job("elsewhere")), REFERENCE)
    assert blind >= {"privileged", "host-path", "image-registry", "seccomp", "gpu-limits"}
    assert blind & {"schema", "jobset-name", "quoted-strings", "deadline"} == set()
    assert unseen(verdicts(train_job("torch-distributed")), REFERENCE) == set()


@pytest.mark.parametrize("runtime", [each.name for each in catalog.RUNTIMES])
def test_nothing_is_found_because_a_runtime_is_elsewhere(runtime: str) -> None:
    trainer = {key: each for key, each in TRAINER.items() if key != "numNodes"}
    specs: tuple[JSON, ...] = ({}, {"trainer": trainer}, {"trainer": None}, {"runtimePatches": []})
    for spec in specs:
        alone = {
            each for each in told(train_job("elsewhere", **spec)) if each[0] != "runtime-exists"
        }
        assert alone <= told(train_job(runtime, **spec))


WRONG: Mapping[str, JSON] = {
    "a label that is a number": {"metadata": {"labels": {"team": 7}}},
    "a name in capitals": {"metadata": {"name": "Digits"}},
    "no name": {"metadata": {"name": None}},
    "a field of another version": {"spec": {"podSpecOverrides": [{"targetJobs": []}]}},
    "a field misspelt": {"spec": {"trainer": {**TRAINER, "imagee": "a"}}},
    "a text for a number": {"spec": {"suspend": "yes"}},
    "env of the trainer that is none": {"spec": {"trainer": {**TRAINER, "env": [{"value": "a"}]}}},
    "a patch of nothing beside": {"spec": {"runtimePatches": [patch(POD), {"manager": 7}]}},
    "a runtime of another group": {"spec": {"runtimeRef": {"name": "a", "apiGroup": "apps"}}},
    "a deadline before the start": {"spec": {"activeDeadlineSeconds": -1}},
}


@pytest.mark.parametrize("what", WRONG)
@pytest.mark.parametrize("runtime", ["torch-distributed", "elsewhere"])
def test_something_wrong_hides_nothing_else(what: str, runtime: str) -> None:
    job = train_job(runtime)
    for part, fields in WRONG[what].items():
        job[part] = {**job[part], **fields}
    found = told(job)
    assert found >= OWN
    of_shape = {"schema", "renders", "runtime-exists", "jobset-name", "quoted-strings"}
    assert {rule for rule, _ in found} & of_shape


@pytest.mark.parametrize("number", [0, -1, 10**9])
@pytest.mark.parametrize("runtime", [each.name for each in catalog.RUNTIMES])
def test_numbers_that_make_no_sense_are_judged_without_a_crash(runtime: str, number: int) -> None:
    odd = {**TRAINER, "numNodes": number, "numProcPerNode": number, "command": ["python", "t.py"]}
    assert told(train_job(runtime, trainer=odd))


def test_what_is_left_out_of_a_patch_is_said_to_be_unseen() -> None:
    pod = {**POD, "volumes": "all"}
    found = verdicts(train_job("torch-distributed", runtimePatches=[patch(pod)]))
    assert "host-path" in unseen(found, (*_POD, "volumes"))
    assert "privileged" in {each.chosen.rule.id for each in found if each.findings}


def test_a_train_job_that_is_nothing_at_all_is_judged_without_a_crash() -> None:
    specs: tuple[Any, ...] = (
        None,
        "all",
        [],
        {"runtimeRef": []},
        {"trainer": 7, "runtimePatches": {}},
    )
    for spec in specs:
        job = {**train_job("elsewhere"), "spec": spec}
        assert "schema" in {rule for rule, _ in told(job)}


@pytest.mark.parametrize(
    "pod",
    [
        {"volumes": [{"hostPath": {"path": "/"}}]},
        {"initContainers": [{"securityContext": {"privileged": True}}]},
        {"volumes": [{"name": 7, "hostPath": {"path": "/"}}, {"name": "b", "emptyDir": {}}]},
    ],
)
def test_a_name_that_is_missing_hides_nothing(pod: JSON) -> None:
    for runtime in ("torch-distributed", "elsewhere"):
        found = {rule for rule, _ in told(train_job(runtime, runtimePatches=[patch(pod)]))}
        assert found & {"host-path", "privileged"}
