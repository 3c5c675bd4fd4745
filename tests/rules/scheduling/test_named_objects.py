"""Priority classes and namespaces are nowhere only where all of them are known, or some are."""

from typing import Any

import pytest

from tests.review import checked

JOB = """
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata:
  name: digits
  namespace: {namespace}
  labels: {{kueue.x-k8s.io/priority-class: {priority}}}
spec: {{runtimeRef: {{name: torch-distributed}}}}
"""
POD = """
apiVersion: v1
kind: Pod
metadata: {{name: digits, namespace: vision}}
spec: {{priorityClassName: {name}, containers: [{{name: a, image: a}}]}}
"""


def named(kind: str, version: str, name: str) -> dict[str, Any]:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}}


CLASS = named("WorkloadPriorityClass", "kueue.x-k8s.io/v1beta2", "high")
NAMESPACE = named("Namespace", "v1", "vision")
POD_CLASS = named("PriorityClass", "scheduling.k8s.io/v1", "training")
OTHERS = [CLASS, NAMESPACE, POD_CLASS]


def found(text: str, *others: dict[str, Any]) -> dict[str, str]:
    """By path what to do."""
    report = checked.of_text(text, "priority-class", "namespace-exists", others=others)
    return {each.path: each.fix for each in report.items}


def test_of_a_kind_that_the_tree_has_none_of_nothing_is_missed() -> None:
    assert found(JOB.format(namespace="visoin", priority="higher")) == {}
    assert found(POD.format(name="trainings"), CLASS, NAMESPACE) == {}


def test_what_is_beside_others_of_its_kind_is_missed() -> None:
    label = "metadata.labels[kueue.x-k8s.io/priority-class]"
    assert found(JOB.format(namespace="visoin", priority="higher"), *OTHERS) == {
        "metadata.namespace": "name vision, or add Namespace visoin",
        label: "name high, or add WorkloadPriorityClass higher",
    }
    assert found(POD.format(name="trainings"), *OTHERS) == {
        "spec.priorityClassName": "name training, or add PriorityClass trainings"
    }


@pytest.mark.parametrize("namespace", ["default", "kube-system", "vision"])
def test_some_namespaces_are_in_every_cluster(namespace: str) -> None:
    assert found(JOB.format(namespace=namespace, priority="high"), *OTHERS) == {}


@pytest.mark.parametrize("name", ["system-node-critical", "system-cluster-critical", "training"])
def test_some_priority_classes_are_in_every_cluster(name: str) -> None:
    assert found(POD.format(name=name), *OTHERS) == {}


def test_a_class_of_another_group_is_none() -> None:
    other = named("PriorityClass", "example.com/v1", "training")
    assert found(POD.format(name="training"), other) == {}
    assert len(found(POD.format(name="higher"), other, POD_CLASS)) == 1
