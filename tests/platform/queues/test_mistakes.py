"""Arguments that cannot work are refused at preview, each with one sentence."""

import pulumi
import pytest

from tests.platform.declared_resources import declared_resources
from tests.platform.queues.mistakes import MISTAKES
from trainer_infra import platform


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_one_sentence(mistake: str) -> None:
    row = MISTAKES[mistake]
    with pytest.raises(pulumi.RunError) as raised:
        declared_resources(lambda: row.component("it", **row.args))
    assert str(raised.value) == f"{row.component.__name__} it: {row.sentence}"


def test_all_mistakes_of_an_object_are_said_at_once() -> None:
    with pytest.raises(pulumi.RunError) as raised:
        declared_resources(
            lambda: platform.ClusterQueue(
                "vision",
                quota={"h100": {"cpu": "many", "memory": {"nominal": "1Gi", "borrowing_limit": 1}}},
                stop_policy="Stop",
            )
        )
    assert [each.split(": ")[1] for each in str(raised.value).splitlines()] == [
        "quota.h100.cpu",
        "quota.h100.memory.borrowing_limit",
        "stop_policy",
    ]


def test_what_is_an_output_is_not_judged() -> None:
    wrong = pulumi.Output.from_input("wrong!")
    declared_resources(
        lambda: (
            platform.ClusterQueue(
                "vision",
                quota={"h100": {"cpu": wrong}},
                stop_policy=wrong,
                preemption={"within_cluster_queue": wrong},
                fair_sharing_weight=wrong,
            ),
            platform.ResourceFlavor(
                "h100",
                node_labels={"pool": wrong},
                node_taints=[{"key": wrong, "value": wrong, "effect": wrong}],
                tolerations=[{"key": wrong, "operator": wrong, "effect": wrong}],
            ),
            platform.Topology("h100", levels=[wrong, "rack"]),
            platform.WorkloadPriorityClass("high", value=pulumi.Output.from_input(2**40)),
        )
    )
