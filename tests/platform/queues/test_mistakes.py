"""Arguments that cannot work are refused at preview, each with one sentence."""

from collections.abc import Callable
from typing import Any

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


def two_checks(**second: Any) -> platform.ClusterQueue:
    workers: Any = {"east": {"secret": "east"}}
    first = platform.MultiKueue("first", workers=workers)
    quota = {"a": {"cpu": 1}, "b": {"cpu": 1}}
    checks = second["checks"](first, workers)
    return platform.ClusterQueue("it", quota=quota, admission_checks=checks)


WITH_COMPONENTS: dict[str, tuple[Callable[[], Any], str]] = {
    "a queue for a cohort": (
        lambda: platform.ClusterQueue("it", cohort=platform.ClusterQueue("other")),  # type: ignore[arg-type]
        "cohort: must be a text or a Cohort, got 'ClusterQueue'",
    ),
    "a queue for a check": (
        lambda: platform.ClusterQueue("it", admission_checks=[platform.Cohort("org")]),  # type: ignore[list-item]
        "admission_checks[0]: must be a text or a ProvisioningAdmission or a MultiKueue or a mapping with check, got 'Cohort'",
    ),
    "a cohort for a flavor": (
        lambda: platform.ClusterQueue("it", quota={platform.Cohort("org"): {"cpu": 1}}),
        "quota.org: must be a ResourceFlavor, or the name of one, got 'Cohort'",
    ),
    "an Output for a flavor": (
        lambda: platform.ClusterQueue("it", quota={platform.ResourceFlavor("a").name: {"cpu": 1}}),
        "quota: must not have an Output as a flavor's name; give the name itself, or the ResourceFlavor",
    ),
    "two MultiKueues": (
        lambda: two_checks(
            checks=lambda first, workers: [first, platform.MultiKueue("second", workers=workers)]
        ),
        "admission_checks: must have at most one MultiKueue, got 2",
    ),
    "a MultiKueue of one flavor": (
        lambda: two_checks(checks=lambda first, _: [{"check": first, "on_flavors": ["a"]}]),
        "admission_checks[0].on_flavors: must be all flavors, or left out, where the check is a MultiKueue",
    ),
    "a MultiKueue and nodes that are made here": (
        lambda: two_checks(
            checks=lambda first, _: [
                first,
                platform.ProvisioningAdmission(
                    "dws", provisioning_class="check-capacity.example.com"
                ),
            ]
        ),
        (
            "admission_checks: must not have a ProvisioningAdmission beside a MultiKueue; let each worker's queue "
            "have it"
        ),
    ),
}


@pytest.mark.parametrize("mistake", WITH_COMPONENTS)
def test_a_mistake_with_a_component_is_one_sentence(mistake: str) -> None:
    """Kueue would take the last three, and never admit a job."""
    program, sentence = WITH_COMPONENTS[mistake]
    with pytest.raises(pulumi.RunError) as raised:
        declared_resources(program)
    assert str(raised.value) == f"ClusterQueue it: {sentence}"
