"""Where pods may run: node affinity, tolerations, and what is not known."""

from typing import Any

import pytest

from trainer_infra.rules import tree, world
from trainer_infra.rules.capacity.requests import GPU_FITS_MACHINE as FITS
from trainer_infra.rules.judge import ConfiguredRule, judge
from trainer_infra.rules.pool import Pool, Taint
from trainer_infra.rules.rule import AnyRule
from trainer_infra.rules.scheduling.declared_pools import TAINTS_TOLERATED as TAINTS
from trainer_infra.rules.scheduling.gang_fits import RULE as GANG
from trainer_infra.rules.value import UNKNOWN

GPU = "nvidia.com/gpu"
TAINT = Taint(key=GPU, value="present", effect="NoSchedule")
SMALL = Pool(name="small", nodes=1, capacity={GPU: 8}, labels={"size": "small"})
LARGE = Pool(name="large", nodes=4, capacity={GPU: 8}, labels={"size": "large"})


def findings(rule: AnyRule, pools: tuple[Pool, ...], **spec: Any) -> list[str]:
    """What the rule says of two pods of eight GPUs."""
    limits = {"limits": {GPU: 8}}
    pod = {"containers": [{"name": "node", "resources": limits}], **spec}
    job = {"name": "node", "template": {"spec": {"parallelism": 2, "template": {"spec": pod}}}}
    jobset = {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": {"name": "digits"},
        "spec": {"replicatedJobs": [job]},
    }
    (subject,) = tree.subjects_of([jobset])
    judged = judge(subject, world.world_of([subject], pools), [ConfiguredRule.default(rule)])
    return [each.what for one in judged for each in one.findings]


def affinity(*terms: list[dict[str, Any]]) -> dict[str, Any]:
    selector = {"nodeSelectorTerms": [{"matchExpressions": each} for each in terms]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": selector}}


def expression(operator: str, *values: str, key: str = "size") -> dict[str, Any]:
    return {"key": key, "operator": operator, "values": list(values)}


TOO_MANY = "makes more pods than the 1 that find place at a time in pool small"


@pytest.mark.parametrize(
    ("terms", "fits"),
    [
        ([], True),
        ([[expression("In", "small")]], False),
        ([[expression("In", "small")], [expression("In", "large")]], True),
        ([[expression("In", "small"), expression("Exists", key="disk")]], False),
        ([[expression("NotIn", "large")]], False),
        ([[expression("NotIn", "small")]], True),
        ([[expression("Exists"), expression("In", "nvme", key="disk")]], True),
        ([[expression("DoesNotExist", key="disk")]], True),
    ],
)
def test_affinity_selects_pools(terms: list[list[dict[str, Any]]], *, fits: bool) -> None:
    found = findings(GANG, (SMALL, LARGE), affinity=affinity(*terms))
    assert found == ([] if fits else [TOO_MANY])


@pytest.mark.parametrize(
    ("tolerations", "tolerated"),
    [
        ([], False),
        ([{"operator": "Exists"}], True),
        ([{"key": GPU, "operator": "Exists"}], True),
        ([{"key": GPU, "value": "present"}], True),
        ([{"key": GPU, "operator": "Equal", "value": "present", "effect": "NoSchedule"}], True),
        ([{"key": GPU, "value": "absent"}], False),
        ([{"key": GPU, "operator": "Exists", "effect": "NoExecute"}], False),
        ([{"key": "other", "operator": "Exists"}], False),
        (UNKNOWN, True),
        ([{"key": UNKNOWN}], True),
    ],
)
def test_a_toleration_of_the_taint_opens_a_pool(tolerations: Any, *, tolerated: bool) -> None:
    pool = LARGE.model_copy(update={"taints": (TAINT,)})
    found = findings(TAINTS, (pool,), tolerations=tolerations)
    assert [each[-50:] for each in found] == (
        [] if tolerated else ["pods: pool large has nvidia.com/gpu=present:NoSchedule"[-50:]]
    )


def test_gke_tolerates_the_taint_of_a_device_that_is_asked_for() -> None:
    labels = {"cloud.google.com/gke-nodepool": "large"}
    pool = LARGE.model_copy(update={"taints": (TAINT,), "labels": labels})
    assert findings(TAINTS, (pool,)) == []


def asking(**limits: Any) -> dict[str, Any]:
    return {"containers": [{"name": "node", "resources": {"limits": limits}}]}


NO_DEVICE = (
    "makes a pod of 1 rdma/hca, which fits into no machine that it may run on: one of pool small "
    "has 0"
)


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        pytest.param({"memory": "1Ti"}, [], id="what a pool leaves out"),
        pytest.param({"rdma/hca": 1}, [NO_DEVICE], id="a device that another pool has"),
        pytest.param({"example.com/licence": 1}, [], id="a device that none has"),
    ],
)
def test_what_no_pool_says_limits_nothing(limits: dict[str, Any], expected: list[str]) -> None:
    capacity: dict[str, str | int] = {"memory": "1Gi", "rdma/hca": 1}
    other = Pool(name="other", nodes=1, capacity=capacity, labels={"size": "other"})
    pod = {**asking(**limits), "nodeSelector": {"size": "small"}}
    assert findings(FITS, (SMALL, other), **pod) == expected


def test_no_more_pods_run_at_once_than_have_to_complete() -> None:
    def job(completions: int) -> list[str]:
        value = {
            "parallelism": 2,
            "completions": completions,
            "template": {"spec": asking(**{GPU: 8})},
        }
        spec = {"replicatedJobs": [{"name": "node", "template": {"spec": value}}]}
        (subject,) = tree.subjects_of([{"kind": "JobSet", "spec": spec}])
        judged = judge(subject, world.world_of([subject], (SMALL,)), [ConfiguredRule.default(GANG)])
        return [each.what for one in judged for each in one.findings]

    assert (job(1), job(2)) == ([], [TOO_MANY])
