"""Not knowing a value never makes a finding."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pytest

from tests.apiserver import invalid_jobsets, invalid_queues
from trainer_infra import catalog
from trainer_infra.rules import RULES, fixture, scheduling, shape, tree, world
from trainer_infra.rules.fixture import Case
from trainer_infra.rules.judge import ConfiguredRule, judge
from trainer_infra.rules.pool import Pool
from trainer_infra.rules.rule import AnyRule
from trainer_infra.rules.value import UNKNOWN

JSON = Mapping[str, Any]
Path = tuple[str | int, ...]
Told = tuple[int, str, Path, str]
"""Position of an object, and of a finding there the rule, the path and what it says."""

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
POOL = Pool(name="cpu", nodes=1, capacity={"cpu": 4})
VALID = [each.whole() for each in (*invalid_queues.VALID, *invalid_jobsets.VALID) if not each.path]
NAMES = [each.name for each in catalog.RUNTIMES]


def on(runtime: str) -> JSON:
    return JOB | {"spec": {**JOB["spec"], "runtimeRef": {"name": runtime}}}  # type: ignore[dict-item]


def paths(value: Any, path: Path = ()) -> Iterator[Path]:
    yield path
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield from paths(each, (*path, key))
    elif isinstance(value, list | tuple):
        for index, each in enumerate(value):
            yield from paths(each, (*path, index))


def one_unknown(objects: Sequence[JSON]) -> Iterator[tuple[int, Path, Sequence[JSON]]]:
    """The objects with each of their values made unknown in turn, and which it is."""
    for index, value in enumerate(objects):
        for path in paths(value):
            if path not in {(), ("kind",)}:
                other = fixture.with_value_at(value, path, UNKNOWN)
                yield index, path, (*objects[:index], other, *objects[index + 1 :])


def findings(
    objects: Sequence[JSON], rules: Iterable[ConfiguredRule], pools: Iterable[Pool] = ()
) -> set[Told]:
    subjects, chosen = tree.subjects_of(objects), tuple(rules)
    everything = world.world_of(subjects, pools, is_whole=True)
    return {
        (index, each.chosen.rule.id, finding.path, finding.what)
        for index, subject in enumerate(subjects)
        for each in judge(subject, everything, chosen)
        for finding in each.findings
    }


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_value_that_is_not_known_makes_no_finding(rule: AnyRule) -> None:
    more = {
        (case.name, *each) for case in fixture.shipped_cases(rule.id) for each in made(rule, case)
    }
    assert more == set()


def made(rule: AnyRule, case: Case) -> Iterator[tuple[int, Path, Told]]:
    """What is found of the good objects of a case only where one of their values is not known."""
    chosen = [ConfiguredRule(rule, rule.severity, rule.parameters(**(case.parameters or {})))]
    objects = case.objects(is_good=True)
    known = {each[:3] for each in findings(objects, chosen, case.pools)}
    for index, path, others in one_unknown(objects):
        for each in findings(others, chosen, case.pools):
            if each[:3] not in known:
                yield index, path, each


@pytest.mark.parametrize("name", ["torchtune-llama3.2-1b", "deepspeed-distributed"])
def test_a_value_of_a_train_job_that_is_not_known_makes_no_finding(name: str) -> None:
    objects = (on(name),)
    chosen = tuple(map(ConfiguredRule.default, RULES))
    known = {each[:3] for each in findings(objects, chosen, [POOL])}
    more = {
        (path, *each)
        for _, path, others in one_unknown(objects)
        for each in findings(others, chosen, [POOL])
        if each[:3] not in known
    }
    assert more == set()


@pytest.mark.parametrize("value", VALID, ids=lambda value: value["kind"])
def test_a_value_of_a_queue_or_jobset_that_is_not_known_makes_no_finding(value: JSON) -> None:
    chosen = tuple(map(ConfiguredRule.default, (*shape.RULES, *scheduling.RULES)))
    known = {each[:3] for each in findings((value,), chosen)}
    more = {
        (path, *each)
        for _, path, others in one_unknown((value,))
        for each in findings(others, chosen)
        if each[:3] not in known
    }
    assert more == set()


@pytest.mark.parametrize("name", NAMES)
def test_what_is_shipped_is_well_shaped(name: str) -> None:
    objects = (on(name), catalog.get(name).to_wire())
    assert findings(objects, map(ConfiguredRule.default, shape.RULES)) == set()
