"""Pods are judged wherever an object of another project writes them."""

from collections.abc import Mapping
from typing import Any

import pytest

from trainer_infra import names
from trainer_infra.rules import tree, world
from trainer_infra.rules.judge import ConfiguredRule, judge
from trainer_infra.rules.pod_security import security_context
from trainer_infra.rules.pods import WORKLOADS
from trainer_infra.rules.supply_chain import images

JSON = dict[str, Any]

POD: JSON = {
    "containers": [{"name": "a", "image": "a:latest", "securityContext": {"privileged": True}}]
}
TEMPLATE: JSON = {"spec": POD}
REPLICAS: JSON = {"Worker": {"replicas": 2, "template": TEMPLATE}}
RAY: JSON = {
    "headGroupSpec": {"template": {"spec": {"containers": []}}},
    "workerGroupSpecs": [{"template": TEMPLATE}],
}
OBJECTS: Mapping[str, JSON] = {
    "Pod": TEMPLATE,
    "PodTemplate": {"template": TEMPLATE},
    "Deployment": {"spec": {"template": TEMPLATE}},
    "StatefulSet": {"spec": {"template": TEMPLATE}},
    "DaemonSet": {"spec": {"template": TEMPLATE}},
    "ReplicaSet": {"spec": {"template": TEMPLATE}},
    "ReplicationController": {"spec": {"template": TEMPLATE}},
    "Job": {"spec": {"template": TEMPLATE}},
    "CronJob": {"spec": {"jobTemplate": {"spec": {"template": TEMPLATE}}}},
    "PyTorchJob": {"spec": {"pytorchReplicaSpecs": REPLICAS}},
    "TFJob": {"spec": {"tfReplicaSpecs": REPLICAS}},
    "MPIJob": {"spec": {"mpiReplicaSpecs": REPLICAS}},
    "XGBoostJob": {"spec": {"xgbReplicaSpecs": REPLICAS}},
    "JAXJob": {"spec": {"jaxReplicaSpecs": REPLICAS}},
    "PaddleJob": {"spec": {"paddleReplicaSpecs": REPLICAS}},
    "LeaderWorkerSet": {"spec": {"leaderWorkerTemplate": {"workerTemplate": TEMPLATE}}},
    "RayCluster": {"spec": RAY},
    "RayJob": {"spec": {"rayClusterSpec": RAY}},
    "RayService": {"spec": {"rayClusterConfig": RAY}},
}
VOLCANO: JSON = {"spec": {"tasks": [{"name": "worker", "template": TEMPLATE}]}}


def test_every_kind_is_here() -> None:
    assert {*OBJECTS} == WORKLOADS - names.WITH_PODS


@pytest.mark.parametrize(("kind", "content"), [*OBJECTS.items(), ("Job", VOLCANO)])
def test_what_is_wrong_with_its_pod_is_found_once(kind: str, content: JSON) -> None:
    value = {"apiVersion": "a/v1", "kind": kind, "metadata": {"name": "a"}, **content}
    (subject,) = tree.subjects_of([value])
    rules = [
        ConfiguredRule.default(each) for each in (security_context.PRIVILEGED, images.IMAGE_LATEST)
    ]
    for verdict in judge(subject, world.world_of([subject]), rules):
        (finding,) = verdict.findings
        found: Any = value
        for key in finding.path:
            found = found[key]
        assert found in (True, "a:latest")


@pytest.mark.parametrize("content", [{}, {"spec": None}, {"spec": {"template": []}}, {"spec": "a"}])
def test_an_object_without_pods_has_nothing_wrong_with_them(content: JSON) -> None:
    value = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a"}, **content}
    (subject,) = tree.subjects_of([value])
    rules = [ConfiguredRule.default(security_context.PRIVILEGED)]
    assert list(judge(subject, world.world_of([subject]), rules)) == []
