"""Flux TrainJobs on the runtime of `flux/runtime.yaml`, rendered: for the tests of both sides."""

from pathlib import Path
from typing import Any

import yaml

from trainer_infra.api.runtime import ClusterTrainingRuntime
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.render import pipeline
from trainer_infra.render.behaviour import OURS, Behaviour

FOLDER = Path(__file__).parent / "flux"


def load(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((FOLDER / name).read_text())
    return loaded


def runtime(job: str = "node", container: dict[str, Any] | None = None, **spec: Any) -> Any:
    """The runtime with another job name, and changes of its container and its JobSetSpec."""
    wire = load("runtime.yaml")
    template = wire["spec"]["template"]["spec"]
    template.update(spec)
    (replicated,) = template["replicatedJobs"]
    replicated["name"] = job
    replicated["template"]["spec"]["template"]["spec"]["containers"][0].update(container or {})
    return ClusterTrainingRuntime.from_wire(wire)


def rendered(
    on: ClusterTrainingRuntime,
    trainer: dict[str, Any] | None = None,
    *,
    behaviour: Behaviour = OURS,
    namespace: str | None = "n",
) -> dict[str, Any]:
    """The objects by kind."""
    metadata = {"name": "tj"} | ({} if namespace is None else {"namespace": namespace})
    spec: dict[str, Any] = {"runtimeRef": {"name": "flux"}}
    job = TrainJob.from_wire(
        {
            "apiVersion": "trainer.kubeflow.org/v1alpha1",
            "kind": "TrainJob",
            "metadata": metadata,
            "spec": spec if trainer is None else {**spec, "trainer": trainer},
        }
    )
    objects = pipeline.render(job, on, behaviour=behaviour)
    return {each["kind"]: each for each in objects}


def pod(objects: dict[str, Any]) -> dict[str, Any]:
    """The PodSpec of the only replicated job."""
    (replicated,) = objects["JobSet"]["spec"]["replicatedJobs"]
    found: dict[str, Any] = replicated["template"]["spec"]["template"]["spec"]
    return found


def script(objects: dict[str, Any], name: str) -> str:
    """A script of the ConfigMap."""
    text: str = objects["ConfigMap"]["data"][name]
    return text
