"""TrainJobs and runtimes as short as the tests of gang scheduling can write them."""

from typing import Any

from trainer_infra.api.runtime import ClusterTrainingRuntime
from trainer_infra.api.trainjob import TrainJob

ANCESTOR = "trainer.kubeflow.org/trainjob-ancestor-step"


def replicated(name: str, ancestor: str | None = None, **given: Any) -> dict[str, Any]:
    """A replicated job.

    `parallelism` and `dependsOn` (a status by job name) go where they belong, the rest into the
    PodSpec.
    """
    job_spec = {"parallelism": given.pop("parallelism")} if "parallelism" in given else {}
    depends = given.pop("dependsOn", {})
    container = ancestor if ancestor and ancestor != "trainer" else "node"
    pod = {"containers": [{"name": container, "image": "i"}], **given}
    job: dict[str, Any] = {"name": name, "template": {"spec": {**job_spec, "template": {}}}}
    job["template"]["spec"]["template"]["spec"] = pod
    if depends:
        job["dependsOn"] = [{"name": each, "status": depends[each]} for each in depends]
    if ancestor:
        job["template"]["metadata"] = {"labels": {ANCESTOR: ancestor}}
    return job


def asking(**requests: Any) -> list[dict[str, Any]]:
    """Containers: one, with these requests."""
    return [{"name": "node", "image": "i", "resources": {"requests": requests}}]


def runtime(*jobs: dict[str, Any], name: str = "r", **given: Any) -> ClusterTrainingRuntime:
    """A runtime of these jobs; `annotations`, `jobset` and `metadata` go where they belong."""
    annotations = given.pop("annotations", None)
    template: dict[str, Any] = {"spec": {**given.pop("jobset", {}), "replicatedJobs": list(jobs)}}
    if annotations:
        template["metadata"] = {"annotations": annotations}
    wire = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "ClusterTrainingRuntime",
        "metadata": {"name": name, **given.pop("metadata", {})},
        "spec": {"mlPolicy": {"numNodes": 1}, "template": template, **given},
    }
    return ClusterTrainingRuntime.from_wire(wire)


def train_job(ref: str = "r", metadata: dict[str, Any] | None = None, **spec: Any) -> TrainJob:
    """The TrainJob n/tj on the runtime of that name."""
    wire = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "tj", "namespace": "n", **(metadata or {})},
        "spec": {"runtimeRef": {"name": ref}, **spec},
    }
    return TrainJob.from_wire(wire)
