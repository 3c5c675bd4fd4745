"""One declaration: the objects, the pool's values, and the runtime that follow from it."""

from collections.abc import Mapping
from typing import Any

import pulumi
import pytest

from tests.platform.declared_resources import declared_objects, declared_resources
from trainer_infra import platform
from trainer_infra.json_values import JSONObject
from trainer_infra.rules.node_pool import PoolSpec
from trainer_infra.rules.pool import Pool, Taint

LEVELS = [f"topology.k8s.aws/network-node-layer-{each}" for each in (1, 2, 3)]
TAINT = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
TOLERATION = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
H100: Mapping[str, Any] = {
    "accelerator": "nvidia-h100-80gb",
    "gpus_per_node": 8,
    "nodes": {"replicas": 16},
    "backend": "karpenter",
    "karpenter": {"node_class": "gpu"},
    "fabric": "efa",
}


def pool_of(name: str, **args: Any) -> tuple[PoolSpec, Mapping[str, JSONObject]]:
    made: list[platform.GpuNodePool] = []
    objects = declared_objects(lambda: made.append(platform.GpuNodePool(name, **args)))
    return made[0].spec, objects


def test_a_karpenter_pool_keeps_machines_under_training_jobs() -> None:
    _, objects = pool_of("h100", **{**H100, "nodes": {"max": 16}, "topology": []})
    assert objects["NodePool/h100"] == {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": "h100"},
        "spec": {
            "template": {
                "metadata": {"labels": {"trainer-infra.dev/pool": "h100"}},
                "spec": {
                    "nodeClassRef": {
                        "group": "karpenter.k8s.aws",
                        "kind": "EC2NodeClass",
                        "name": "gpu",
                    },
                    "requirements": [
                        {
                            "key": "node.kubernetes.io/instance-type",
                            "operator": "In",
                            "values": ["p5.48xlarge"],
                        },
                        {
                            "key": "karpenter.sh/capacity-type",
                            "operator": "In",
                            "values": ["on-demand"],
                        },
                    ],
                    "expireAfter": "Never",
                    "taints": [TAINT],
                },
            },
            "disruption": {
                "consolidationPolicy": "WhenEmpty",
                "consolidateAfter": "10m",
                "budgets": [
                    {"nodes": "100%", "reasons": ["Empty"]},
                    {"nodes": "0", "reasons": ["Drifted"]},
                    {"nodes": "0", "reasons": ["Underutilized"]},
                ],
            },
            "limits": {"nvidia.com/gpu": "128"},
        },
    }


def test_a_karpenter_pool_takes_what_the_program_says() -> None:
    _, objects = pool_of(
        "blocks",
        machine_type="p5en.48xlarge",
        nodes={"replicas": 4, "max": 6},
        backend="karpenter",
        capacity_type="capacity-block",
        reservation="cr-123",
        zones=["us-east-2a"],
        labels={"team": "vision"},
        taints=[{"key": "training", "effect": "NoExecute"}],
        karpenter={
            "node_class": pulumi.Output.from_input("mine"),
            "consolidate_after": "1h",
            "drifted_nodes": "1",
            "do_not_disrupt": False,
            "termination_grace_period": "24h",
            "requirements": [{"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]}],
        },
    )
    spec = objects["NodePool/blocks"]["spec"]
    template = spec["template"]["spec"]

    assert spec["replicas"] == 4
    assert spec["limits"] == {"nodes": "6"}
    assert spec["disruption"]["consolidateAfter"] == "1h"
    assert {"nodes": "1", "reasons": ["Drifted"]} in spec["disruption"]["budgets"]
    assert spec["template"]["metadata"]["labels"] == {
        "team": "vision",
        "trainer-infra.dev/pool": "blocks",
    }
    assert template["terminationGracePeriod"] == "24h"
    assert template["nodeClassRef"]["name"] == "mine"
    assert template["taints"] == [{"key": "training", "effect": "NoExecute"}]
    assert {each["key"]: each["values"] for each in template["requirements"]} == {
        "node.kubernetes.io/instance-type": ["p5en.48xlarge"],
        "karpenter.sh/capacity-type": ["reserved"],
        "karpenter.k8s.aws/capacity-reservation-type": ["capacity-block"],
        "karpenter.k8s.aws/capacity-reservation-id": ["cr-123"],
        "topology.kubernetes.io/zone": ["us-east-2a"],
        "kubernetes.io/arch": ["amd64"],
    }


def test_kueue_gets_a_flavor_and_the_levels_of_the_machines() -> None:
    _, objects = pool_of("h100", **H100)
    assert objects["ResourceFlavor/h100"] == {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "ResourceFlavor",
        "metadata": {"name": "h100"},
        "spec": {
            "nodeLabels": {"trainer-infra.dev/pool": "h100"},
            "nodeTaints": [TAINT],
            "tolerations": [TOLERATION],
            "topologyName": "h100",
        },
    }
    assert objects["Topology/h100"] == {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Topology",
        "metadata": {"name": "h100"},
        "spec": {
            "levels": [{"nodeLabel": each} for each in (*LEVELS, "kubernetes.io/hostname")],
        },
    }


def test_without_queueing_there_is_nothing_of_kueue() -> None:
    spec, objects = pool_of("h100", **{**H100, "queueing": False})
    assert list(objects) == ["NodePool/h100"]
    assert (spec.flavor_name, spec.topology_name, spec.topology) == (None, None, ())


def test_machines_that_are_there_are_chosen_by_their_type() -> None:
    made: list[platform.GpuNodePool] = []

    def program() -> None:
        made.append(
            platform.GpuNodePool(
                "a10", machine_type="g5.12xlarge", nodes={"max": 4}, backend="existing"
            )
        )

    objects = declared_objects(program)
    assert list(objects) == ["ResourceFlavor/a10"]
    assert objects["ResourceFlavor/a10"]["spec"] == {
        "nodeLabels": {"node.kubernetes.io/instance-type": "g5.12xlarge"},
        "tolerations": [TOLERATION],
    }
    assert made[0].topology is None
    assert made[0].flavor is not None
    assert made[0].resources == {}


def test_the_pool_says_what_its_machines_have_and_all_of_them_together() -> None:
    spec, _ = pool_of("h100", **H100)
    assert spec.capacity == {
        "cpu": "191450m",
        "memory": "2048186Mi",
        "nvidia.com/gpu": 8,
        "vpc.amazonaws.com/efa": 32,
    }
    assert spec.quota == {
        "cpu": "3063200m",
        "memory": "32770976Mi",
        "nvidia.com/gpu": "128",
        "vpc.amazonaws.com/efa": "512",
    }


def test_a_pool_of_several_machine_types_has_what_each_of_them_has() -> None:
    spec, objects = pool_of(
        "a10g",
        accelerator="nvidia-a10g",
        gpus_per_node=4,
        nodes={"max": 2},
        backend="karpenter",
        karpenter={"node_class": "gpu"},
        capacity_type="spot",
    )
    template = objects["NodePool/a10g"]["spec"]["template"]["spec"]
    assert template["requirements"][0]["values"] == ["g5.12xlarge", "g5.24xlarge"]
    assert spec.capacity == {"cpu": "47810m", "memory": "185653Mi", "nvidia.com/gpu": 4}
    assert spec.machine_type is None
    assert spec.preemptible


def test_policy_judges_by_the_same_pool() -> None:
    spec, _ = pool_of("h100", **{**H100, "domain_nodes": {LEVELS[2]: 8}})
    assert spec.as_policy_pool() == Pool(
        name="h100",
        capacity=dict(spec.capacity),
        nodes=16,
        accelerator="nvidia-h100-80gb",
        labels={
            "trainer-infra.dev/pool": "h100",
            "node.kubernetes.io/instance-type": "p5.48xlarge",
            "karpenter.sh/nodepool": "h100",
            "karpenter.k8s.aws/instance-gpu-name": "h100",
        },
        taints=(Taint(key="nvidia.com/gpu", value="present", effect="NoSchedule"),),
        topology={LEVELS[2]: 8},
    )


def test_everything_is_a_child_and_the_pool_is_an_output() -> None:
    component, *children = declared_resources(lambda: platform.GpuNodePool("h100", **H100))
    assert component.kind == "trainer:index:GpuNodePool"
    by_kind = {each.kind.rpartition(":")[2]: each for each in children if each.inputs}
    parts = {each.urn for each in children if each.parent == component.urn}
    assert {each.parent for each in children} - {component.urn} <= parts
    assert {each.name for each in by_kind.values()} == {"h100:h100"}
    (flavor,) = (each for each in children if each.kind == "trainer:index:ResourceFlavor")
    assert by_kind["Topology"].urn in flavor.dependencies


@pytest.mark.parametrize("driver", ["managed", "none"])
def test_the_driver_is_what_the_program_says(driver: str) -> None:
    assert pool_of("h100", **{**H100, "driver": driver})[0].driver == driver
