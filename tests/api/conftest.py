"""A TrainJob and a runtime in wire form, small and valid, for the tests of this folder."""

from typing import Any

import pytest

JSON = dict[str, Any]


@pytest.fixture
def job() -> JSON:
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "digits"},
        "spec": {"runtimeRef": {"name": "torch-distributed"}},
    }


@pytest.fixture
def runtime() -> JSON:
    container = {"name": "node", "image": "python"}
    pod = {"spec": {"template": {"spec": {"containers": [container]}}}}
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "ClusterTrainingRuntime",
        "metadata": {"name": "torch-distributed"},
        "spec": {"template": {"spec": {"replicatedJobs": [{"name": "node", "template": pod}]}}},
    }
