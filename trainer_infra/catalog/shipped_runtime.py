"""What the catalog holds of one runtime, and the shapes of replicated jobs that several share.

The typed runtime is built when it is asked for: the first use of each typed class costs milliseconds, and most
commands need one runtime.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from trainer_infra import names
from trainer_infra.api.base import ObjectMeta
from trainer_infra.api.runtime import (
    ClusterTrainingRuntime,
    JobSetTemplate,
    MLPolicy,
    TrainingRuntimeSpec,
)
from trainer_infra.json_values import JSONDict

IMAGES: Final = "ghcr.io/kubeflow/trainer"
"""Where the reference's own images are."""
TAG: Final = "v2.3.0"
"""Their tag: the reference's manifests name none, its overlays set this one."""


@dataclass(frozen=True, slots=True)
class ShippedRuntime:
    """One runtime of the catalog."""

    name: str
    framework: str
    """Value of the framework label, which the SDK chooses a runtime by."""
    purpose: str
    """What it is for, in one line."""
    spec: Callable[[], TrainingRuntimeSpec]
    """Builds what it consists of."""
    labels: tuple[tuple[str, str], ...] = ()
    """Labels beside the framework's."""

    def runtime(self) -> ClusterTrainingRuntime:
        """The runtime."""
        labels = {names.FRAMEWORK_LABEL: self.framework, **dict(self.labels)}
        metadata = ObjectMeta(name=self.name, labels=labels)
        return ClusterTrainingRuntime(metadata=metadata, spec=self.spec())


def runtime_spec(policy: MLPolicy, *jobs: dict[str, Any], **job_set: Any) -> TrainingRuntimeSpec:
    """The spec of a runtime with these replicatedJobs, and before them other fields of the JobSetSpec in wire form."""
    template = JobSetTemplate(spec={**job_set, "replicatedJobs": list(jobs)})
    return TrainingRuntimeSpec(ml_policy=policy, template=template)


def replicated_job(
    name: str, container: JSONDict, ancestor: str | None = None, **pod: Any
) -> JSONDict:
    """A replicated job of one container; `ancestor` is the value of its label, None for no label.

    Further fields of the PodSpec, in wire form, come before the container.
    """
    metadata = {"metadata": {"labels": {names.ANCESTOR_LABEL: ancestor}}} if ancestor else {}
    pod_template = {"spec": {**pod, "containers": [container]}}
    return {"name": name, "template": {**metadata, "spec": {"template": pod_template}}}


def node_job(image: str, **container: Any) -> JSONDict:
    """The job `node_job` that trains: one container of that image, with these further fields."""
    return replicated_job(
        names.NODE, {"name": names.NODE, "image": image, **container}, names.TRAINER
    )


def depends_on(replicated_job: JSONDict, status: str, *jobs: str) -> JSONDict:
    """The replicated job, started when those before it have reached that status."""
    name, template = replicated_job["name"], replicated_job["template"]
    depends_on = [{"name": each, "status": status} for each in jobs]
    return {"name": name, "dependsOn": depends_on, "template": template}
