"""A workspace's quota becomes queues of Kueue or Volcano, or a ResourceQuota."""

from collections.abc import Mapping
from typing import Any

import pulumi
import pytest

from tests.platform.declared_resources import declared_objects, declared_resources
from trainer_infra import platform
from trainer_infra.json_values import JSONObject
from trainer_infra.rules.node_pool import PoolSpec


def pool(name: str = "h100", **more: Any) -> PoolSpec:
    """Sixteen machines of eight GPUs."""
    given: dict[str, Any] = {
        "name": name,
        "resource": "nvidia.com/gpu",
        "gpus_per_node": 8,
        "max_nodes": 16,
        "capacity": {"nvidia.com/gpu": 8, "cpu": "190", "memory": "2000Gi"},
        "labels": {"pool": name},
        "node_labels": {"pool": name},
    }
    return PoolSpec(**given | more)


def workspace(**args: Any) -> dict[str, JSONObject]:
    return declared_objects(lambda: platform.Workspace("vision", **args))


def flavors(**args: Any) -> dict[str, dict[str, str]]:
    """Nominal quota of a workspace's ClusterQueue, by flavor and resource."""
    spec = workspace(**args)["ClusterQueue/vision"]["spec"]
    return {
        flavor["name"]: {each["name"]: each["nominalQuota"] for each in flavor["resources"]}
        for group in spec["resourceGroups"]
        for flavor in group["flavors"]
    }


def test_a_quota_makes_a_cluster_queue_for_the_namespace_and_its_default_queue() -> None:
    made = workspace(quota={"nvidia.com/gpu": 16, "cpu": 64}, cohort="org", namespace="team-v")

    assert made["ClusterQueue/team-v"] == {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "ClusterQueue",
        "metadata": {"name": "team-v"},
        "spec": {
            "cohortName": "org",
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "team-v"}},
            "preemption": {"withinClusterQueue": "LowerPriority", "reclaimWithinCohort": "Any"},
            "resourceGroups": [
                {
                    "coveredResources": ["nvidia.com/gpu", "cpu"],
                    "flavors": [
                        {
                            "name": "default-flavor",
                            "resources": [
                                {"name": "nvidia.com/gpu", "nominalQuota": "16"},
                                {"name": "cpu", "nominalQuota": "64"},
                            ],
                        }
                    ],
                }
            ],
        },
    }
    assert made["LocalQueue/team-v/default"]["spec"] == {"clusterQueue": "team-v"}
    assert {each["kind"] for each in made.values()} & {"ResourceQuota", "LimitRange"} == set()


def test_of_what_the_program_does_not_name_the_queue_has_all_but_accelerators() -> None:
    whole = {"cpu": "3040", "memory": "32000Gi"}
    assert flavors(quota={"nvidia.com/gpu": 16}, pools=[pool()]) == {
        "h100": {"nvidia.com/gpu": "16", **whole}
    }
    assert flavors(quota={"cpu": 64}, pools=[pool()]) == {
        "h100": {"cpu": "64", "nvidia.com/gpu": "0", "memory": "32000Gi"}
    }


def test_flavors_of_several_pools_cover_the_same_resources() -> None:
    other = pool("a100", capacity={"nvidia.com/gpu": 8, "rdma/ib": 8})
    amounts = {
        "h100": {"nvidia.com/gpu": {"nominal": 16, "borrowing_limit": 8}},
        "a100": {"nvidia.com/gpu": 8},
    }
    assert flavors(quota=amounts, pools=[pool(), other], cohort="org") == {
        "h100": {"nvidia.com/gpu": "16", "cpu": "3040", "memory": "32000Gi", "rdma/ib": "0"},
        "a100": {"nvidia.com/gpu": "8", "cpu": "0", "memory": "0", "rdma/ib": "128"},
    }


def test_a_flat_quota_is_of_the_only_pool_that_has_the_resource() -> None:
    tpus = pool("tpu", resource="google.com/tpu", capacity={"google.com/tpu": 4})
    found = flavors(quota={"nvidia.com/gpu": 16, "google.com/tpu": 8}, pools=[pool(), tpus])
    assert {
        name: (each["nvidia.com/gpu"], each["google.com/tpu"]) for name, each in found.items()
    } == {
        "h100": ("16", "0"),
        "tpu": ("0", "8"),
    }


def test_a_quota_that_is_not_known_yet_is_taken() -> None:
    later = pulumi.Output.from_input(1000)
    found = flavors(quota={"nvidia.com/gpu": later}, pools=[pool()])
    assert found["h100"]["nvidia.com/gpu"] == "1k"


def test_volcano_has_one_queue_with_the_sum_of_the_pools() -> None:
    quota = {"h100": {"nvidia.com/gpu": 16}, "a100": {"nvidia.com/gpu": 8, "cpu": "500m"}}
    made = workspace(quota=quota, pools=[pool(), pool("a100")], queueing="volcano")
    assert made["Queue/vision"]["spec"] == {"capability": {"nvidia.com/gpu": "24", "cpu": "500m"}}
    assert {"ClusterQueue", "LocalQueue"} & {each["kind"] for each in made.values()} == set()


def test_without_a_queue_the_namespace_holds_the_quota() -> None:
    made = workspace(
        quota={"nvidia.com/gpu": 16, "cpu": 64}, queueing=False, resource_quota={"pods": 9}
    )
    assert made["ResourceQuota/vision/trainer-infra"]["spec"] == {
        "hard": {"requests.nvidia.com/gpu": 16, "requests.cpu": 64, "pods": 9}
    }
    assert made["LimitRange/vision/trainer-infra"]["spec"] == {
        "limits": [{"type": "Container", "defaultRequest": {"cpu": "1"}}]
    }


def test_queues_come_after_the_namespace_and_in_their_order() -> None:
    made = declared_resources(lambda: platform.Workspace("vision", quota={"cpu": 1}))
    by_kind = {each.kind.rpartition(":")[2]: each for each in made}
    team = by_kind["Workspace"]

    components = {each.kind: each for each in made if each.parent == team.urn}
    queue, local = components["trainer:index:ClusterQueue"], components["trainer:index:LocalQueue"]
    made_by_queue = {each.urn for each in made if each.parent == queue.urn}
    assert by_kind["Namespace"].urn in queue.dependencies & local.dependencies
    assert made_by_queue
    assert made_by_queue <= local.dependencies


def test_an_output_names_the_queue() -> None:
    seen: list[object] = []

    def program() -> None:
        team = platform.Workspace("vision", quota={"cpu": 1}, queue="train")
        assert team.queue is not None
        team.queue.apply(seen.append)
        assert platform.Workspace("audio").queue is None

    declared_resources(program)
    assert seen == ["train"]


MISTAKES: Mapping[str, tuple[dict[str, Any], str]] = {
    "a quota of nothing": ({"quota": {}}, "quota: has no amounts; write quota="),
    "an amount": (
        {"quota": {"cpu": "many"}},
        "quota.cpu: must be a quantity such as 1, 500m or 16Gi, got 'many'",
    ),
    "a component for its spec": (
        {"quota": {"cpu": 1}, "pools": ["h100"]},
        "pools[0]: must be a PoolSpec, got 'h100'; write pools=[pool.spec]",
    ),
    "more than the pool has": (
        {"quota": {"nvidia.com/gpu": 129}, "pools": [pool()]},
        "quota.nvidia.com/gpu: is more than the pool h100 has with all of its 16 machines, got 129;",
    ),
    "more than one of the pools has": (
        {"quota": {"h100": {"nvidia.com/gpu": {"nominal": 129}}}, "pools": [pool()]},
        "quota.h100.nvidia.com/gpu: is more than the pool h100 has",
    ),
    "a resource of no machine": (
        {"quota": {"amd.com/gpu": 8}, "pools": [pool()]},
        "quota.amd.com/gpu: is not a resource of the pool h100; it has nvidia.com/gpu, cpu, memory",
    ),
    "a flat quota of several pools": (
        {"quota": {"nvidia.com/gpu": 8}, "pools": [pool(), pool("a100")]},
        "quota.nvidia.com/gpu: may be of any of the pools h100, a100, got 8; say which: quota={",
    ),
    "a pool without its quota": (
        {"quota": {"h100": {"cpu": 8}}, "pools": [pool(), pool("a100")]},
        "quota.a100: is missing; write {'a100': {...}}",
    ),
    "a pool of another name": (
        {"quota": {"h100": {"cpu": 8}, "b200": {"cpu": 8}}, "pools": [pool()]},
        "quota.b200: is not one of the pools; write h100",
    ),
    "a pool without a flavor": (
        {"quota": {"cpu": 8}, "pools": [pool(queueing=False)]},
        "pools: has h100, of which Kueue has no flavor; leave queueing=False out of the pool, or",
    ),
    "a queue without a quota": (
        {"queueing": "kueue"},
        "quota: is missing, and without one nothing is admitted; write quota={",
    ),
    "pools without a quota": ({"pools": [pool()]}, "quota: is missing, and without one"),
    "another scheduler": (
        {"quota": {"cpu": 1}, "queueing": "slurm"},
        "queueing: must be kueue or volcano or False, got 'slurm'",
    ),
    "a cohort of Volcano": (
        {"quota": {"cpu": 1}, "queueing": "volcano", "cohort": "org"},
        "cohort: is for Kueue, which queues nothing here; leave it out",
    ),
    "a queue's name": (
        {"quota": {"cpu": 1}, "queue": "A"},
        "queue: must be lower-case letters, digits and -, and begin",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_bad_argument_is_one_sentence(mistake: str) -> None:
    args, sentence = MISTAKES[mistake]
    with pytest.raises(pulumi.RunError) as raised:
        workspace(**args)
    said = str(raised.value)
    assert said.startswith(f"Workspace vision: {sentence}")
    assert "\n" not in said
