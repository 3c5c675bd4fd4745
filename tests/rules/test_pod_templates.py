"""Pods are judged wherever an object of another project writes them."""

from collections.abc import Mapping
from typing import Any

import pytest

from trainer_infra import names
from trainer_infra.api.finding import path_text
from trainer_infra.rules import RULES, tree, world
from trainer_infra.rules.judge import ConfiguredRule, judge
from trainer_infra.rules.pod_security import security_context
from trainer_infra.rules.pods import WORKLOADS
from trainer_infra.rules.rule import AnyRule
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
    "Rollout": {"spec": {"template": TEMPLATE}},
    "Notebook": {"spec": {"template": TEMPLATE}},
    "CloneSet": {"spec": {"template": TEMPLATE}},
    "BroadcastJob": {"spec": {"template": TEMPLATE}},
    "NodeSet": {"spec": {"template": TEMPLATE}},
    "ScaledJob": {"spec": {"jobTargetRef": {"template": TEMPLATE}}},
    "JobTemplate": {"spec": {"tasks": [{"name": "worker", "template": TEMPLATE}]}},
    "MXJob": {"spec": {"mxReplicaSpecs": REPLICAS}},
    "ElasticJob": {"spec": {"replicaSpecs": REPLICAS}},
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
CONTAINER: JSON = POD["containers"][0]
OTHERS: Mapping[str, JSON] = {
    "Workflow": {"spec": {"templates": [{"name": "a", "container": CONTAINER}]}},
    "WorkflowTemplate": {
        "spec": {"templates": [{"name": "a", "script": {**CONTAINER, "source": "b"}}]}
    },
    "ClusterWorkflowTemplate": {"spec": {"templates": [{"containerSet": POD}]}},
    "CronWorkflow": {"spec": {"workflowSpec": {"templates": [{"sidecars": [CONTAINER]}]}}},
    "Task": {"spec": {"steps": [CONTAINER]}},
    "PipelineRun": {"spec": {"pipelineSpec": {"tasks": [{"taskSpec": {"steps": [CONTAINER]}}]}}},
    "InferenceService": {"spec": {"predictor": POD}},
    "ServingRuntime": {"spec": POD},
    "FlinkDeployment": {"spec": {"jobManager": {"podTemplate": TEMPLATE}}},
    "PodCliqueSet": {"spec": {"template": {"cliques": [{"spec": {"podSpec": POD}}]}}},
    "SeldonDeployment": {"spec": {"predictors": [{"componentSpecs": [TEMPLATE]}]}},
    "Service": {"spec": {"template": TEMPLATE}},
    "DynamoGraphDeployment": {
        "spec": {"services": {"a": {"extraPodSpec": {"mainContainer": CONTAINER}}}}
    },
    "NeverHeardOf": {"whatever": {"lies": [{"deep": {"initContainers": [CONTAINER]}}]}},
}
"""Kinds that no rule knows."""
SPARK: JSON = {
    "apiVersion": "sparkoperator.k8s.io/v1beta2",
    "kind": "SparkApplication",
    "metadata": {"name": "a"},
    "spec": {
        "driver": {"hostNetwork": True, "securityContext": {"privileged": True}},
        "executor": {"hostNetwork": False, "securityContext": {"privileged": False}},
        "volumes": [{"name": "a", "hostPath": {"path": "/"}}],
    },
}


def test_every_kind_is_here() -> None:
    assert {*OBJECTS} == WORKLOADS - names.WITH_PODS


def found_in(value: JSON, *rules: AnyRule) -> dict[str, list[str]]:
    """Paths of what rules find in an object, by rule."""
    (subject,) = tree.subjects_of([value])
    chosen = map(ConfiguredRule.default, rules)
    return {
        each.chosen.rule.id: [path_text(one.path) for one in each.findings]
        for each in judge(subject, world.world_of([subject]), chosen)
    }


def test_in_a_kind_that_no_rule_knows_what_it_says_of_pods_is_judged_and_nothing_else() -> None:
    assert found_in(SPARK, *RULES) == {
        "privileged": ["spec.driver.securityContext.privileged"],
        "host-namespaces": ["spec.driver.hostNetwork"],
        "host-path": ["spec.volumes[0].hostPath.path"],
    }


def test_what_a_workflow_fills_in_is_not_known_and_is_told() -> None:
    value = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Workflow",
        "metadata": {"name": "a"},
        "spec": {
            "templates": [
                {
                    "container": {"image": "{{inputs.parameters.image}}", "args": ["{{a}}"]},
                    "sidecars": [{"securityContext": {"capabilities": {"add": "{{caps}}"}}}],
                }
            ]
        },
    }
    (subject,) = tree.subjects_of([value])
    chosen = map(ConfiguredRule.default, RULES)
    told = list(judge(subject, world.world_of([subject]), chosen))
    assert [each.findings for each in told if each.findings] == []
    start = ("spec", "templates", 0)
    assert {path for each in told for path in each.unseen} == {
        (*start, "container", "image"),
        (*start, "sidecars", 0, "securityContext", "capabilities", "add"),
    }


CRONS: JSON = {"spec": {"jobTemplate": VOLCANO}}


@pytest.mark.parametrize(
    ("kind", "content"),
    [*OBJECTS.items(), *OTHERS.items(), ("Job", VOLCANO), ("CronJob", CRONS)],
)
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
