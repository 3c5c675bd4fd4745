"""What a job costs at most, and why that is not known."""

from decimal import Decimal
from typing import Any

import pytest

from trainer_infra.rules import subject as rule_subject
from trainer_infra.rules import tree, world
from trainer_infra.rules.capacity import cost
from trainer_infra.rules.capacity.cost import Cost
from trainer_infra.rules.pool import Pool
from trainer_infra.rules.value import UNKNOWN

PRICES = {
    "nvidia-h100-80gb": Decimal(10),
    "nvidia-l4": Decimal(1),
    "cpu": Decimal("0.5"),
    "memory": Decimal("0.25"),
}
H100 = Pool(
    name="h100", capacity={"nvidia.com/gpu": 8}, nodes=4, accelerator="NVIDIA-H100-80GB-HBM3"
)
L4 = Pool(name="l4", capacity={"nvidia.com/gpu": 8}, nodes=4, accelerator="l4")
OTHER = Pool(name="other", capacity={"nvidia.com/gpu": 8}, nodes=4)
CPU = Pool(name="cpu", capacity={"cpu": 64}, nodes=4)
HOUR = 3600


def train_job(limits: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "digits", "namespace": "vision"},
        "spec": {
            "runtimeRef": {"name": "torch-distributed"},
            "trainer": {"numNodes": 2, "resourcesPerNode": {"limits": limits}},
            **spec,
        },
    }


def jobset(seconds: int, **failure_policy: Any) -> dict[str, Any]:
    container = {"name": "node", "resources": {"limits": {"nvidia.com/gpu": "2"}}}
    pod = {"template": {"spec": {"containers": [container]}}}
    job = {"activeDeadlineSeconds": seconds, "parallelism": 3, **pod}
    replicated = {"name": "node", "replicas": 2, "template": {"spec": job}}
    return {
        "kind": "JobSet",
        "metadata": {"name": "digits", "namespace": "vision"},
        "spec": {"failurePolicy": failure_policy, "replicatedJobs": [replicated]},
    }


def of(value: dict[str, Any], *pools: Pool, prices: cost.Prices = PRICES) -> Cost:
    (subject,) = tree.subjects_of([value])
    return cost.cost_of(subject, world.world_of([subject], pools), prices)


def test_nodes_gpus_hours_and_what_each_costs() -> None:
    limits = {"nvidia.com/gpu": 4, "cpu": "8", "memory": "16Gi"}
    found = of(train_job(limits, activeDeadlineSeconds=3 * HOUR), H100)
    assert found == Cost(Decimal(2 * 4 * 3), Decimal(2 * 3 * (4 * 10 + 4 + 4)))


@pytest.mark.parametrize(
    ("pools", "price"),
    [
        pytest.param((H100, L4), Decimal(20), id="the dearest of the pools"),
        pytest.param((L4, CPU), Decimal(2), id="a pool without GPUs says nothing"),
        pytest.param((H100, OTHER), Decimal(4), id="one that is not known: by the resource"),
        pytest.param((), Decimal(4), id="no pools: by the resource"),
    ],
)
def test_the_price_of_an_accelerator(pools: tuple[Pool, ...], price: Decimal) -> None:
    job = train_job({"nvidia.com/gpu": 1}, activeDeadlineSeconds=HOUR)
    prices = {**PRICES, "nvidia.com/gpu": Decimal(2)}
    assert of(job, *pools, prices=prices) == Cost(Decimal(2), price)


def test_a_deadline_of_jobs_begins_anew_with_each_restart() -> None:
    found = of(jobset(HOUR, maxRestarts=3), prices={"nvidia.com/gpu": Decimal(1)})
    assert found == Cost(Decimal(2 * 3 * 2 * 4), Decimal(2 * 3 * 2 * 4))


def test_restarts_that_are_not_counted_have_no_end() -> None:
    rules = [{"name": "machines", "action": "RestartJobSetAndIgnoreMaxRestarts"}]
    found = of(jobset(HOUR, rules=rules), prices={"nvidia.com/gpu": Decimal(1)})
    assert found == Cost(why=cost.ENDLESS)


@pytest.mark.parametrize(
    ("job", "expected"),
    [
        (train_job({"nvidia.com/gpu": 1}), Cost(why=f"there is no price for nvidia-l4 and {cost.ENDLESS}")),
        (train_job({"cpu": 1}), Cost(Decimal(0), None, cost.ENDLESS)),
        (train_job({"memory": "1Gi"}, activeDeadlineSeconds=HOUR), Cost(Decimal(0), Decimal(0))),
        (
            train_job({"nvidia.com/gpu": 1}, activeDeadlineSeconds=HOUR),
            Cost(Decimal(2), None, "there is no price for nvidia-l4"),
        ),
        (
            train_job({"nvidia.com/gpu": UNKNOWN}, activeDeadlineSeconds=HOUR),
            Cost(why="spec.trainer.resourcesPerNode.limits[nvidia.com/gpu] is not known yet"),
        ),
        (
            train_job({"nvidia.com/gpu": 1}, activeDeadlineSeconds=UNKNOWN),
            Cost(why="spec.activeDeadlineSeconds is not known yet"),
        ),
        ({"kind": "ConfigMap"}, Cost(why="it asks for no pods that are known")),
    ],
)  # fmt: skip
def test_why_a_cost_is_not_known(job: dict[str, Any], expected: Cost) -> None:
    assert of(job, L4, prices={"cpu": Decimal(1)}) == expected


def test_resources_that_are_not_known_are_no_bargain() -> None:
    (subject,) = tree.subjects_of([train_job({}, activeDeadlineSeconds=HOUR)])
    value = jobset(HOUR)
    job = value["spec"]["replicatedJobs"][0]["template"]["spec"]
    job["template"]["spec"]["containers"][0]["resources"] = UNKNOWN
    judged = rule_subject.with_rendered(subject, [value])
    assert (
        cost.cost_of(judged, world.world_of([]), PRICES).why
        == "spec.runtimeRef.name is not known yet"
    )
