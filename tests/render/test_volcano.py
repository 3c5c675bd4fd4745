"""Volcano's validation: the queue's name and the priority classes; reference behaviour 3.9."""

from typing import Any

import pytest

from tests.render.runtimes import replicated, runtime, train_job
from trainer_infra.errors import InvalidInput
from trainer_infra.render import pipeline
from trainer_infra.render.behaviour import Behaviour
from trainer_infra.render.plugins import PLUGINS, volcano

QUEUE = "scheduling.volcano.sh/queue-name"
VOLCANO: dict[str, Any] = {"podGroupPolicy": {"volcano": {}}}


def priorities(*names: str) -> Any:
    jobs = (replicated(f"j{i}", priorityClassName=name) for i, name in enumerate(names))
    return runtime(*jobs, replicated("node", "trainer"), **VOLCANO)


def refusal(on: Any, *known: str) -> list[tuple[str, str]]:
    plugins = tuple(volcano.plugin(known) if each.name == "Volcano" else each for each in PLUGINS)
    return [
        (each.path, each.what)
        for each in pipeline.rendering_problems(train_job(), on, behaviour=Behaviour(plugins))
    ]


def test_an_empty_queue_name_is_refused() -> None:
    on = runtime(replicated("node", "trainer"), annotations={QUEUE: ""}, **VOLCANO)
    with pytest.raises(InvalidInput) as caught:
        pipeline.render(train_job(), on)
    assert [str(each) for each in caught.value.problems] == [
        (f"TrainJob tj: spec.annotations[{QUEUE}]: Volcano queue name must not be empty, got ''")
    ]


def test_each_priority_class_that_the_cluster_has_not_is_refused() -> None:
    path = "spec.templateSpec.priorityClassName"
    assert refusal(priorities("a", "known", "b"), "known") == [
        (path, 'PriorityClass "a" doesn\'t exist: priorityclasses.scheduling.k8s.io "a" not found'),
        (path, 'PriorityClass "b" doesn\'t exist: priorityclasses.scheduling.k8s.io "b" not found'),
    ]


def test_classes_after_one_of_every_cluster_are_not_looked_at() -> None:
    assert len(refusal(priorities("a", "system-node-critical", "b"))) == 1


def test_q16_priority_classes_are_not_judged_by_who_cannot_read_them() -> None:
    group, _ = pipeline.render(train_job(), priorities("a", "b"))
    assert group["spec"]["priorityClassName"] == "b"


def test_topology_has_the_defaults_of_the_api() -> None:
    on = runtime(replicated("node", "trainer"), podGroupPolicy={"volcano": {"networkTopology": {}}})
    group, _ = pipeline.render(train_job(), on)
    assert group["spec"]["networkTopology"] == {"mode": "hard", "highestTierAllowed": 1}
