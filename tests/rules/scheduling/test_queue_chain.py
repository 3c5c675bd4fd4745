"""What a tree does not have may be in the cluster: only where queues are kept is one nowhere."""

from typing import Any

import pytest

from trainer_infra.rules import tree, world
from trainer_infra.rules.judge import ConfiguredRule, judge
from trainer_infra.rules.scheduling.named_objects import QUEUE_CHAIN as RULE
from trainer_infra.rules.value import UNKNOWN

PATH = ("metadata", "labels", "kueue.x-k8s.io/queue-name")


def local_queue(name: Any, namespace: str | None, version: str = "v1beta2") -> dict[str, Any]:
    where = {} if namespace is None else {"namespace": namespace}
    return {
        "apiVersion": f"kueue.x-k8s.io/{version}",
        "kind": "LocalQueue",
        "metadata": {"name": name, **where},
    }


def found(*others: dict[str, Any], is_whole: bool = False) -> list[tuple[Any, ...]]:
    job = {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": "digits", "namespace": "vision", "labels": {PATH[-1]: "team"}},
    }
    subjects = tree.subjects_of((job, *others))
    around = world.world_of(subjects, is_whole=is_whole)
    judged = judge(subjects[0], around, [ConfiguredRule.default(RULE)])
    return [each.path for one in judged for each in one.findings]


@pytest.mark.parametrize(
    "others",
    [
        (),
        (local_queue("other", "audio"),),
        (local_queue("team", "vision", "v1beta1"), local_queue("other", "vision")),
        (local_queue("team", None),),
        (local_queue(UNKNOWN, "vision"),),
    ],
)
def test_a_queue_may_be_elsewhere(others: tuple[dict[str, Any], ...]) -> None:
    assert found(*others) == []


def test_a_queue_is_nowhere_where_others_of_the_namespace_are_kept() -> None:
    assert found(local_queue("other", "vision")) == [PATH]


def test_a_queue_of_another_namespace_is_another_queue() -> None:
    assert found(local_queue("team", "audio"), is_whole=True) == [PATH]


def test_a_kind_of_the_same_name_is_not_kueues() -> None:
    other = {**local_queue("team", "vision"), "apiVersion": "example.com/v1"}
    assert found(other, is_whole=True) == [PATH]
