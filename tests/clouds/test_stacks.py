"""The stacks of clouds under Pulumi's mocks: the whole program, with the cloud's own SDK."""

import json
import re
import runpy
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pulumi
import pytest

from tests.platform.declared_resources import DeclaredResource, declared_resources

ROOT = Path(__file__).resolve().parents[2]
NETWORKS = [{"network": f"vpc{each}", "subnetwork": f"sub{each}"} for each in range(1, 9)]
CONFIGURATION: Mapping[str, Mapping[str, str]] = {
    "gke": {
        "cluster": "prod",
        "location": "europe-west4",
        "zone": "europe-west4-b",
        "reservation": "training",
        "networks": json.dumps(NETWORKS),
    },
    "eks": {
        "cluster": "prod",
        "role": "arn:aws:iam::1:role/nodes",
        "subnet": "subnet-1",
        "security_group": "sg-1",
        "reservation": "cr-1",
    },
    "aks": {"cluster": "prod", "resource_group": "training", "subnet": "id"},
}
MACHINES: Mapping[str, Mapping[str, int]] = {
    "gke": {"gcp:container/nodePool:NodePool": 2},
    "eks": {"aws:ec2/launchTemplate:LaunchTemplate": 2, "aws:eks/nodeGroup:NodeGroup": 2},
    "aks": {"azure-native:containerservice:AgentPool": 2},
}
OF_THE_PLATFORM = {
    "trainer:index:GpuNodePool": 2,
    "trainer:index:ResourceFlavor": 2,
    "trainer:index:ClusterQueue": 1,
    "trainer:index:LocalQueue": 1,
    "trainer:index:RuntimeCatalog": 1,
    "trainer:index:TrainerPlatform": 1,
    "trainer:index:Workspace": 1,
}


def declared_by(stack: str) -> Sequence[DeclaredResource]:
    def program() -> None:
        values = {f"platform:{key}": each for key, each in CONFIGURATION[stack].items()}
        pulumi.runtime.set_all_config(values)
        runpy.run_path(str(ROOT / "stacks" / stack / "__main__.py"), run_name="__main__")

    return declared_resources(program)


@pytest.mark.usefixtures("kubectl_on_path")
@pytest.mark.parametrize("stack", CONFIGURATION)
def test_a_stack_declares_the_platform_and_its_machines(stack: str) -> None:
    made = declared_by(stack)
    counts = Counter(each.kind for each in made)
    assert {key: counts[key] for key in OF_THE_PLATFORM} == OF_THE_PLATFORM
    assert {key: each for key, each in counts.items() if key in MACHINES[stack]} == MACHINES[stack]

    pools = {each.urn for each in made if each.kind == "trainer:index:GpuNodePool"}
    for each in made:
        if each.kind in MACHINES[stack]:
            assert each.parent in pools
            assert list(python_names(each.inputs)) == []


def python_names(value: Any) -> Iterator[str]:
    """Keys that the SDK did not know, so that it left them as Python writes them; labels are data."""
    if isinstance(value, Mapping):
        for key, each in value.items():
            if re.fullmatch(r"[a-z]+(_[a-z0-9]+)+", key):
                yield key
            yield from python_names(each) if key not in {"labels", "nodeLabels"} else ()
    for each in value if isinstance(value, list) else ():
        yield from python_names(each)


@pytest.mark.usefixtures("kubectl_on_path")
def test_the_launch_template_of_p5_has_32_interfaces() -> None:
    made = {each.name: each for each in declared_by("eks") if "launchTemplate" in each.kind}
    interfaces = made["blocks"].inputs["networkInterfaces"]
    assert [each["interfaceType"] for each in interfaces] == ["efa", *["efa-only"] * 31]
    assert [each["networkCardIndex"] for each in interfaces] == list(range(32))
    assert made["small"].inputs.keys().isdisjoint({"networkInterfaces"})


@pytest.mark.usefixtures("kubectl_on_path")
def test_the_runtimes_of_a_stack_use_the_fabric_of_its_machines() -> None:
    kind = "kubernetes:trainer.kubeflow.org/v1alpha1:ClusterTrainingRuntime"
    made = {
        each.inputs["metadata"]["name"]: each for each in declared_by("eks") if each.kind == kind
    }
    (job,) = made["torch-distributed"].inputs["spec"]["template"]["spec"]["replicatedJobs"]
    (container,) = job["template"]["spec"]["template"]["spec"]["containers"]
    assert container["resources"]["limits"] == {"nvidia.com/gpu": 8, "vpc.amazonaws.com/efa": 32}


@pytest.mark.usefixtures("kubectl_on_path")
def test_the_quota_of_a_stack_is_what_its_machines_have() -> None:
    (queue,) = (each for each in declared_by("eks") if each.kind.endswith(":ClusterQueue")
                and each.kind.startswith("kubernetes"))  # fmt: skip
    flavors = {
        flavor["name"]: {each["name"]: each["nominalQuota"] for each in flavor["resources"]}
        for group in queue.inputs["spec"]["resourceGroups"]
        for flavor in group["flavors"]
    }
    assert str(flavors["blocks"]["nvidia.com/gpu"]) == "16"
    assert str(flavors["blocks"]["vpc.amazonaws.com/efa"]) == "128"
    assert str(flavors["small"]["vpc.amazonaws.com/efa"]) == "0"
