"""`renders` says what no other rule of shape says better, and of a runtime only where it is not judged."""

from typing import Any

import pytest

from trainer_infra.rules import tree, world
from trainer_infra.rules.judge import ConfiguredRule, judge
from trainer_infra.rules.shape import RULES
from trainer_infra.rules.value import UNKNOWN

API = "trainer.kubeflow.org/v1alpha1"
LABEL = "trainer.kubeflow.org/trainjob-ancestor-step"
REFERENCE = ("spec", "runtimeRef", "name")


def runtime(job: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    pod = {"spec": {"containers": [{"name": "node", "image": "pytorch/pytorch"}]}}
    template = {"metadata": {"labels": {LABEL: "trainer"}}, "spec": {"template": pod}}
    jobs = [{"name": "node", "template": template, **(job or {})}]
    return {
        "apiVersion": API,
        "kind": "ClusterTrainingRuntime",
        "metadata": {"name": "small", "labels": {"trainer.kubeflow.org/framework": "torch"}},
        "spec": {
            "mlPolicy": {"torch": {}},
            "template": {"spec": {"replicatedJobs": jobs}},
            **spec,
        },
    }


def train_job(name: Any = "digits", **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": API,
        "kind": "TrainJob",
        "metadata": {"name": name, "namespace": "vision"},
        "spec": {"runtimeRef": {"name": "small"}, **spec},
    }


def found(
    *judged: dict[str, Any], others: tuple[dict[str, Any], ...] = ()
) -> list[tuple[str, tuple[str | int, ...]]]:
    """Rules and paths of all that shape says of the objects."""
    subjects = tree.subjects_of(judged, others)
    return [
        (each.chosen.rule.id, finding.path)
        for subject in subjects
        for each in judge(subject, world.world_of(subjects), map(ConfiguredRule.default, RULES))
        for finding in each.findings
    ]


GANGS: dict[str, Any] = {"coscheduling": {}, "volcano": {}}


@pytest.mark.parametrize(
    ("bad", "of_runtime"),
    [
        (
            runtime({"replicas": 2}),
            ("job-replicas", ("spec", "template", "spec", "replicatedJobs", 0, "replicas")),
        ),
        (
            runtime(podGroupPolicy=GANGS),
            ("gang-policy", ("spec", "podGroupPolicy", "volcano")),
        ),
        (runtime(nodes=2), ("schema", ("spec", "nodes"))),
    ],
)
def test_a_runtime_is_blamed_itself_or_where_it_is_named(
    bad: dict[str, Any], of_runtime: tuple[str, tuple[str | int, ...]]
) -> None:
    assert found(train_job(), bad) == [of_runtime]
    assert found(train_job(), others=(bad,)) == [("renders", REFERENCE)]


@pytest.mark.parametrize(
    ("bad", "expected"),
    [
        (train_job(trainer={"numNodes": "two"}), ("schema", ("spec", "trainer", "numNodes"))),
        (train_job(name="d" * 49), ("jobset-name", ("metadata", "name"))),
        (
            train_job(trainer={"env": [{"name": "PET_NNODES", "value": "2"}]}),
            ("reserved-env", ("spec", "trainer", "env", 0, "name")),
        ),
        (
            train_job(runtimeRef={"name": "small", "apiGroup": "kubeflow.org"}),
            ("runtime-exists", ("spec", "runtimeRef", "apiGroup")),
        ),
        (
            train_job(trainer={"image": 1}),
            ("quoted-strings", ("spec", "trainer", "image")),
        ),
    ],
)
def test_one_fault_is_one_finding(
    bad: dict[str, Any], expected: tuple[str, tuple[str | int, ...]]
) -> None:
    assert found(bad, runtime()) == [expected]


def test_what_may_come_of_an_unknown_value_is_not_said() -> None:
    long = "a-job-whose-name-leaves-little-room-for-others"
    assert found(train_job(name=UNKNOWN), others=(runtime({"name": long}),)) == []
    patches = [{"manager": UNKNOWN, "trainingRuntimeSpec": {}}]
    assert found(train_job(runtimePatches=patches), runtime()) == []
