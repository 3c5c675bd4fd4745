"""Queue objects as a program declares them: whole objects, their order, and what of them is secret."""

import base64
from typing import Any

import pytest

from tests.platform.declared_resources import declared_objects, declared_resources
from tests.platform.queues.program import KUBECONFIG, all_queues
from trainer_infra import platform

KUEUE = "kueue.x-k8s.io/v1beta2"


def check(name: str, controller: str, kind: str) -> dict[str, Any]:
    parameters = {"apiGroup": "kueue.x-k8s.io", "kind": kind, "name": name}
    return {"controllerName": f"kueue.x-k8s.io/{controller}", "parameters": parameters}


def worker(kind: str, location: str) -> dict[str, Any]:
    return {"clusterSource": {"kubeConfig": {"locationType": kind, "location": location}}}


SPECS: dict[str, dict[str, Any]] = {
    "Topology/blocks": {
        "levels": [
            {"nodeLabel": "cloud.google.com/gce-topology-block"},
            {"nodeLabel": "kubernetes.io/hostname"},
        ]
    },
    "ResourceFlavor/h100": {
        "nodeLabels": {"cloud.google.com/gke-accelerator": "nvidia-h100-mega-80gb"},
        "nodeTaints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}],
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
        "topologyName": "blocks",
    },
    "ResourceFlavor/cpu": {},
    "Cohort/company": {},
    "Cohort/org": {
        "parentName": "company",
        "resourceGroups": [
            {
                "coveredResources": ["cpu"],
                "flavors": [
                    {
                        "name": "cpu",
                        "resources": [
                            {
                                "name": "cpu",
                                "nominalQuota": "8",
                                "borrowingLimit": "4",
                                "lendingLimit": "16",
                            }
                        ],
                    }
                ],
            }
        ],
        "fairSharing": {"weight": "500m"},
    },
    "ProvisioningRequestConfig/dws": {
        "provisioningClassName": "queued-provisioning.gke.io",
        "parameters": {"maxRunDurationSeconds": "604800"},
        "managedResources": ["nvidia.com/gpu"],
        "retryStrategy": {
            "backoffLimitCount": 2,
            "backoffBaseSeconds": 30,
            "backoffMaxSeconds": 600,
        },
        "podSetUpdates": {
            "nodeSelector": [
                {
                    "key": "autoscaling.gke.io/provisioning-request",
                    "valueFromProvisioningClassDetail": "ResizeRequestName",
                }
            ]
        },
        "podSetMergePolicy": "IdenticalPodTemplates",
    },
    "AdmissionCheck/dws": check("dws", "provisioning-request", "ProvisioningRequestConfig"),
    "MultiKueueCluster/west": worker("Secret", "everywhere-west"),
    "MultiKueueCluster/later": worker("Secret", "everywhere-later"),
    "MultiKueueCluster/east": worker("Secret", "east-kubeconfig"),
    "MultiKueueCluster/south": worker("Path", "/etc/workers/south"),
    "MultiKueueCluster/north": {"clusterSource": {"clusterProfileRef": {"name": "north"}}},
    "MultiKueueConfig/everywhere": {
        "clusters": ["west", "later", "east", "south", "north"],
        "quotaManagement": "Manual",
    },
    "AdmissionCheck/everywhere": check("everywhere", "multikueue", "MultiKueueConfig"),
    "ClusterQueue/vision": {
        "cohortName": "org",
        "namespaceSelector": {
            "matchLabels": {"team": "vision"},
            "matchExpressions": [{"key": "tier", "operator": "In", "values": ["a", "b"]}],
        },
        "resourceGroups": [
            {
                "coveredResources": ["nvidia.com/gpu", "memory"],
                "flavors": [
                    {
                        "name": "h100",
                        "resources": [
                            {"name": "nvidia.com/gpu", "nominalQuota": "16"},
                            {
                                "name": "memory",
                                "nominalQuota": "2Ti",
                                "borrowingLimit": "1Ti",
                                "lendingLimit": "1Ti",
                            },
                        ],
                    },
                    {
                        "name": "a100",
                        "resources": [
                            {"name": "nvidia.com/gpu", "nominalQuota": "8"},
                            {"name": "memory", "nominalQuota": "1Gi"},
                        ],
                    },
                ],
            },
            {
                "coveredResources": ["cpu"],
                "flavors": [{"name": "cpu", "resources": [{"name": "cpu", "nominalQuota": "128"}]}],
            },
        ],
        "queueingStrategy": "StrictFIFO",
        "preemption": {
            "withinClusterQueue": "LowerPriority",
            "reclaimWithinCohort": "Any",
            "borrowWithinCohort": {"policy": "LowerPriority", "maxPriorityThreshold": 100},
        },
        "flavorFungibility": {
            "whenCanBorrow": "TryNextFlavor",
            "whenCanPreempt": "TryNextFlavor",
            "preference": "PreemptionOverBorrowing",
        },
        "admissionChecksStrategy": {
            "admissionChecks": [{"name": "licences"}, {"name": "dws", "onFlavors": ["h100"]}]
        },
        "stopPolicy": "None",
        "fairSharing": {"weight": "2"},
        "admissionScope": {"admissionMode": "UsageBasedAdmissionFairSharing"},
    },
    "ClusterQueue/anywhere": {
        "namespaceSelector": {},
        "resourceGroups": [
            {
                "coveredResources": ["nvidia.com/gpu"],
                "flavors": [
                    {
                        "name": "a100",
                        "resources": [{"name": "nvidia.com/gpu", "nominalQuota": "8"}],
                    }
                ],
            }
        ],
        "admissionChecksStrategy": {
            "admissionChecks": [{"name": "everywhere", "onFlavors": ["a100"]}]
        },
    },
    "LocalQueue/vision/team": {
        "clusterQueue": "vision",
        "stopPolicy": "Hold",
        "fairSharing": {"weight": "1"},
    },
}


def test_each_object_is_whole() -> None:
    made = declared_objects(all_queues)
    specs = {
        key: each["spec"]
        for key, each in made.items()
        if each["apiVersion"] == KUEUE and "spec" in each
    }
    assert specs == SPECS
    assert made["ResourceFlavor/h100"]["metadata"] == {"name": "h100", "labels": {"pool": "h100"}}
    assert made["WorkloadPriorityClass/high"] == {
        "apiVersion": KUEUE,
        "kind": "WorkloadPriorityClass",
        "metadata": {"name": "high"},
        "value": 1000,
        "description": "Before a deadline",
    }
    assert made["Queue/vision"] == {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": "vision"},
        "spec": {
            "parent": "research",
            "weight": 2,
            "capability": {"cpu": "64", "memory": "256Gi"},
            "deserved": {"cpu": "32"},
            "guarantee": {"resource": {"cpu": "16"}},
            "reclaimable": False,
            "priority": 5,
        },
    }
    others = {"WorkloadPriorityClass/high", "Queue/vision", "Queue/research"}
    secrets = {f"Secret/kueue-system/everywhere-{each}" for each in ("west", "later")}
    assert made.keys() == SPECS.keys() | others | secrets


def test_every_object_is_a_child_of_its_component() -> None:
    made = declared_resources(all_queues)
    components = {each.urn: each for each in made if each.kind.startswith("trainer:index:")}
    assert [
        each for each in made if each.urn not in components and each.parent not in components
    ] == []
    kinds = {each.kind.rpartition(":")[2] for each in components.values()}
    assert kinds == {
        "ClusterQueue", "Cohort", "LocalQueue", "MultiKueue", "ProvisioningAdmission", "ResourceFlavor",
        "Topology", "VolcanoQueue", "WorkloadPriorityClass",
    }  # fmt: skip


def test_what_a_component_names_is_made_first_and_deleted_last() -> None:
    made = declared_resources(all_queues)
    names = {each.urn: each.name for each in made}
    after = {
        f"{each.kind.rpartition(':')[2]} {each.name}": {names[urn] for urn in each.dependencies}
        for each in made
        if each.kind.startswith("trainer:index:")
    }
    assert after == {
        "Topology blocks": set(),
        "ResourceFlavor h100": {"blocks:blocks"},
        "ResourceFlavor spare": set(),
        "Cohort company": set(),
        "Cohort org": {"company:company"},
        "ProvisioningAdmission dws": set(),
        "MultiKueue everywhere": set(),
        "ClusterQueue vision": {"org:org", "h100:h100", "dws:dws"},
        "ClusterQueue anywhere": {
            "everywhere:everywhere",
            *(f"everywhere:{each}" for each in ("west", "later", "east", "south", "north")),
            *(f"everywhere:kueue-system/everywhere-{each}" for each in ("west", "later")),
        },
        "LocalQueue team": {"vision:vision"},
        "WorkloadPriorityClass high": set(),
        "VolcanoQueue research": set(),
        "VolcanoQueue vision-volcano": {"research:research"},
    }


@pytest.mark.parametrize("worker_name", ["west", "later"])
def test_a_kubeconfig_is_secret(worker_name: str) -> None:
    made = {each.name: each for each in declared_resources(all_queues)}
    secret = made[f"everywhere:kueue-system/everywhere-{worker_name}"]
    assert base64.b64decode(secret.inputs["data"]["kubeconfig"]).decode() == KUBECONFIG
    assert any(path[0] == "data" for path in secret.secrets)
    others = (each for each in made.values() if each is not secret and each.secrets)
    assert {each.kind for each in others} == {"kubernetes:core/v1:Secret"}
    assert all("west-token" not in str(each.inputs) for each in made.values())


def test_the_name_is_an_output_and_the_resources_unless_given() -> None:
    def program() -> None:
        platform.Cohort("org")
        named = platform.Cohort("org-of-east", name="east")
        platform.Cohort("below", parent=named.name)

    made = {each.name: each for each in declared_resources(program)}
    objects = {name for name, each in made.items() if each.kind.startswith("kubernetes:")}
    assert objects == {"org:org", "org-of-east:east", "below:below"}
    assert made["below:below"].inputs["spec"] == {"parentName": "east"}
    assert made["below:below"].dependencies == {made["org-of-east:east"].urn}


def test_what_is_none_is_not_given() -> None:
    made = declared_objects(
        lambda: platform.ResourceFlavor("h100", topology_name=None, name=None)  # type: ignore[arg-type]
    )
    assert made["ResourceFlavor/h100"]["spec"] == {}
