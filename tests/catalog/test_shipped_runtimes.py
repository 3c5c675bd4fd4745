"""The shipped runtimes are those of spec/trainer-behaviour.md section 8.1, and valid."""

import pytest
import yaml

from trainer_infra import catalog
from trainer_infra.api.runtime import ClusterTrainingRuntime
from trainer_infra.errors import InvalidInput

SHIPPED = """
- apiVersion: trainer.kubeflow.org/v1alpha1
  kind: ClusterTrainingRuntime
  metadata:
    name: {framework}-distributed
    labels: {{trainer.kubeflow.org/framework: {framework}}}
  spec:
    mlPolicy:
      numNodes: 1
      {framework}: {{}}
    template:
      spec:
        replicatedJobs:
        - name: node
          template:
            metadata:
              labels: {{trainer.kubeflow.org/trainjob-ancestor-step: trainer}}
            spec:
              template:
                spec:
                  containers:
                  - name: node
                    image: {image}
"""


@pytest.mark.parametrize(
    ("framework", "image"),
    [
        ("torch", "pytorch/pytorch:2.13.0-cuda13.0-cudnn9-runtime"),
        ("jax", "nvcr.io/nvidia/jax:25.10-py3"),
    ],
)
def test_is_what_the_reference_ships(framework: str, image: str) -> None:
    (wire,) = yaml.safe_load(SHIPPED.format(framework=framework, image=image))
    runtime = catalog.get(f"{framework}-distributed")
    assert runtime.to_wire() == wire
    assert ClusterTrainingRuntime.from_wire(wire) == runtime


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InvalidInput) as caught:
        catalog.get("torch")
    assert str(caught.value) == (
        "spec.runtimeRef.name: names a runtime that is neither given nor in the catalog, "
        "got 'torch'; use one of torch-distributed, jax-distributed, or pass a TrainingRuntime"
    )
