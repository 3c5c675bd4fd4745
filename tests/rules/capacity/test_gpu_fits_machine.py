"""Which pools a pod may use, and what it asks for in all: one rule says it, or one of its taints."""

from typing import Any

import pytest

from trainer_infra.rules import tree, world
from trainer_infra.rules.capacity import requests
from trainer_infra.rules.judge import ConfiguredRule, judge
from trainer_infra.rules.pool import Pool, Taint
from trainer_infra.rules.scheduling import declared_pools

TAINT = Taint(key="nvidia.com/gpu", value="present", effect="NoSchedule")
SMALL = Pool(
    name="small",
    capacity={"cpu": 16, "nvidia.com/gpu": 2},
    nodes=4,
    labels={"size": "small"},
    taints=(TAINT,),
)
CPU = Pool(name="cpu", capacity={"cpu": 64}, nodes=4, labels={"size": "large"})


def found(pod: dict[str, Any], *pools: Pool) -> list[Any]:
    node = {"name": "node", "template": {"spec": {"template": {"spec": pod}}}}
    value = {"kind": "JobSet", "spec": {"replicatedJobs": [node]}}
    (subject,) = tree.subjects_of([value])
    rules = map(
        ConfiguredRule.default, (requests.GPU_FITS_MACHINE, declared_pools.TAINTS_TOLERATED)
    )
    return [
        each.path[6:]
        for judged in judge(subject, world.world_of([subject], pools), rules)
        for each in judged.findings
    ]


def asking(amount: int, **pod: Any) -> dict[str, Any]:
    container = {"name": "node", "resources": {"limits": {"nvidia.com/gpu": amount}}}
    return {"containers": [container], **pod}


TOO_MANY = [("spec", "containers", 0, "resources", "limits", "nvidia.com/gpu")]
LACKS_ONE = [("spec", "tolerations")]
"""What `taints-tolerated` says, and this rule then does not."""
EXISTS = [{"operator": "Exists"}]
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
TERM = {"matchExpressions": [{"key": "size", "operator": "In", "values": ["huge"]}]}
HUGE = {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [TERM]}}}
AFFINITY = ("spec", "affinity", "nodeAffinity", REQUIRED, "nodeSelectorTerms")


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        pytest.param(asking(2, tolerations=EXISTS), [], id="fits"),
        pytest.param(asking(3, tolerations=EXISTS), TOO_MANY, id="too many"),
        pytest.param(
            asking(3, tolerations=[{"key": "nvidia.com/gpu", "value": "present"}]),
            TOO_MANY,
            id="tolerates by value",
        ),
        pytest.param(asking(1), LACKS_ONE, id="tolerates only machines without"),
        pytest.param(
            asking(1, tolerations=[{"operator": "Exists", "effect": "NoExecute"}]),
            LACKS_ONE,
            id="tolerates another effect",
        ),
        pytest.param(asking(3), TOO_MANY, id="too many, whatever it tolerates"),
        pytest.param(
            asking(2, tolerations=EXISTS, nodeSelector={"kubernetes.io/arch": "amd64"}),
            [],
            id="a label that no pool names",
        ),
        pytest.param(
            asking(1, tolerations=EXISTS, nodeSelector={"size": "huge"}),
            [("spec", "nodeSelector", "size")],
            id="a label that no machine has",
        ),
        pytest.param(
            asking(1, tolerations=EXISTS, affinity=HUGE), [AFFINITY], id="an affinity to none"
        ),
    ],
)
def test_the_pools_that_a_pod_may_use(pod: dict[str, Any], expected: list[Any]) -> None:
    assert found(pod, SMALL, CPU) == expected


def test_containers_add_up_and_the_greatest_is_named() -> None:
    cpus = [{"name": name, "resources": {"requests": {"cpu": cpu}}} for name, cpu in
            (("side", 24), ("node", "32"), ("other", 16))]  # fmt: skip
    path = ("spec", "containers", 1, "resources", "requests", "cpu")
    assert found({"containers": cpus}, CPU) == [path]
    assert found({"containers": cpus[:2]}, CPU) == []


def test_without_pools_nothing_is_said() -> None:
    assert found(asking(10_000)) == []
