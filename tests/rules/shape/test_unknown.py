"""Not knowing a value of a good example never makes a finding."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from trainer_infra import catalog
from trainer_infra.rules import fixture, tree, world
from trainer_infra.rules.judge import Chosen, judge
from trainer_infra.rules.shape import RULES
from trainer_infra.rules.value import UNKNOWN

JOB = {
    "apiVersion": "trainer.kubeflow.org/v1alpha1",
    "kind": "TrainJob",
    "metadata": {"name": "digits", "namespace": "vision"},
    "spec": {
        "trainer": {
            "image": "example.com/digits",
            "numNodes": 2,
            "env": [{"name": "SEED", "value": "7"}],
            "resourcesPerNode": {"limits": {"cpu": "4"}},
        },
    },
}
EXAMPLES = [
    *(
        pytest.param(case.good, id=f"{rule.id}: {case.name}")
        for rule in RULES
        for case in fixture.shipped(rule.id)
    ),
    *(
        pytest.param(
            (JOB | {"spec": {**JOB["spec"], "runtimeRef": {"name": each.name}}},),  # type: ignore[dict-item]
            id=f"TrainJob on {each.name}",
        )
        for each in catalog.RUNTIMES
    ),
    *(pytest.param((each.runtime().to_wire(),), id=each.name) for each in catalog.RUNTIMES),
]


def paths(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    yield path
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from paths(each, (*path, key))
    elif isinstance(value, list | tuple):
        for index, each in enumerate(value):
            yield from paths(each, (*path, index))


def findings(objects: tuple[Any, ...]) -> set[tuple[int, str, tuple[str | int, ...]]]:
    subjects = tree.of(objects)
    everything = world.of(subjects, is_whole=True)
    return {
        (index, each.chosen.rule.id, finding.path)
        for index, subject in enumerate(subjects)
        for each in judge(subject, everything, map(Chosen.default, RULES))
        for finding in each.findings
    }


@pytest.mark.parametrize("objects", EXAMPLES)
def test_a_value_that_is_not_known_makes_no_finding(objects: tuple[Any, ...]) -> None:
    known = findings(objects)
    more = {
        (path, *each)
        for index, value in enumerate(objects)
        for path in paths(value)
        if path not in {(), ("kind",)}
        for each in findings(
            (
                *objects[:index],
                fixture.changed(value, path, UNKNOWN),
                *objects[index + 1 :],
            )
        )
        - known
    }
    assert more == set()


@pytest.mark.parametrize("objects", EXAMPLES[-2 * len(catalog.RUNTIMES) :])
def test_what_is_shipped_has_no_finding(objects: tuple[Any, ...]) -> None:
    assert findings(objects) == set()
