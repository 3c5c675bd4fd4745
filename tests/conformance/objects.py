"""Objects of the tests, in wire form, as small as the server takes them."""

from collections.abc import Mapping
from typing import Any, Final

JSON = dict[str, Any]

ANCESTOR: Final = "trainer.kubeflow.org/trainjob-ancestor-step"
"""Label of a replicated job that a TrainJob configures."""
UNCHECKED: Final = {"trainer.kubeflow.org/webhook-validation": "disabled"}
"""Labels of a runtime that no webhook judges."""
MANAGER: Final = "example.com/test"
"""Who the tests' runtimePatches are of."""
DATASET, MODEL = "dataset-initializer", "model-initializer"


def container(name: str = "node", **fields: Any) -> JSON:
    return {"name": name, "image": "example.com/runtime:1", **fields}


def job(name: str = "node", ancestor: str | None = "trainer", **fields: Any) -> JSON:
    """A replicated job with one container.

    Args:
        name: of the job, and of the container where it is an initializer's.
        ancestor: its step; None for a job without one.
        fields: `containers`, `labels` of the Job's template, `job` with fields of the Job's spec,
            `pod_metadata`; all others are the pod's.
    """
    first = container(name if ancestor in {DATASET, MODEL} else "node")
    labels = {ANCESTOR: ancestor} if ancestor else {}
    metadata = {"labels": {**labels, **fields.pop("labels", {})}}
    pod = {"metadata": fields.pop("pod_metadata", {})}
    outer = fields.pop("outer", {})
    spec = {**fields.pop("job", {}), "template": pod | {"spec": {"containers": [first], **fields}}}
    return {"name": name, **outer, "template": {"metadata": metadata, "spec": spec}}


def initializer(name: str, **fields: Any) -> JSON:
    """A replicated job that fetches, with the volume that it must have."""
    mounts = [{"name": "initializer", "mountPath": "/workspace"}]
    first = container(name, volumeMounts=mounts, **fields)
    return job(name, name, containers=[first], volumes=[{"name": "initializer", "emptyDir": {}}])


def runtime(name: str = "runtime", *jobs: JSON, **fields: Any) -> JSON:
    """A TrainingRuntime.

    Args:
        name: its name.
        jobs: its replicated jobs; one of a trainer where there are none.
        fields: `policy` is mlPolicy, of torch where it is not given, `gang` podGroupPolicy, `kind` its
            kind, `labels` its own, `template` the metadata of its template; all others are
            the JobSet's spec.
    """
    kind, labels = fields.pop("kind", "TrainingRuntime"), fields.pop("labels", {})
    policy, gang = fields.pop("policy", {"torch": {}}), fields.pop("gang", None)
    spec: JSON = {"mlPolicy": policy} if policy is not None else {}
    spec |= {"podGroupPolicy": gang} if gang else {}
    template: JSON = {"metadata": fields.pop("template", {})}
    template["spec"] = {"replicatedJobs": list(jobs) or [job()], **fields}
    metadata = {"name": name, "labels": labels}
    return {"kind": kind, "metadata": metadata, "spec": {**spec, "template": template}}


def train_job(
    name: str = "a", runtime: str = "runtime", kind: str = "TrainingRuntime", **spec: Any
) -> JSON:
    """A TrainJob on that runtime; `metadata` adds to its own."""
    metadata = {"name": name, **spec.pop("metadata", {})}
    ref = {"name": runtime, "kind": kind}
    return {"kind": "TrainJob", "metadata": metadata, "spec": {"runtimeRef": ref, **spec}}


def patch(manager: str = MANAGER, name: str = "node", **fields: Any) -> JSON:
    """An entry of runtimePatches that changes one replicated job.

    Args:
        manager: whose it is.
        name: of the replicated job.
        fields: `labels` and `annotations` are the JobSet's, `job` metadata of the Job,
            `pod_metadata` that of the pod; all others are the pod's.
    """
    jobset = {key: fields.pop(key) for key in ("labels", "annotations") if key in fields}
    template: JSON = {"metadata": jobset} if jobset else {}
    job_metadata, pod_metadata = fields.pop("job", {}), fields.pop("pod_metadata", {})
    if fields or job_metadata or pod_metadata:
        pod = {"metadata": pod_metadata, "spec": fields}
        one = {"name": name, "template": {"metadata": job_metadata, "spec": {"template": pod}}}
        template["spec"] = {"replicatedJobs": [one]}
    return {"manager": manager, "trainingRuntimeSpec": {"template": template}}


def job_status(name: str, **counts: int) -> JSON:
    """An entry of a JobSet's replicatedJobsStatus, and of a TrainJob's jobsStatus."""
    none = dict.fromkeys(("ready", "succeeded", "failed", "active", "suspended"), 0)
    return {"name": name, **none, **counts}


def condition(kind: str, value: str = "True", **fields: str) -> JSON:
    """A condition of a JobSet."""
    return {
        "type": kind,
        "status": value,
        "reason": "Reason",
        "message": "",
        "lastTransitionTime": "2026-01-02T03:04:05Z",
        **fields,
    }


def pod_spec(job_set: JSON, name: str = "node") -> JSON:
    """The pod's spec of a replicated job."""
    spec: JSON = replicated(job_set, name)["template"]["spec"]["template"]["spec"]
    return spec


def replicated(job_set: JSON, name: str = "node") -> JSON:
    """A replicated job by its name."""
    jobs: list[JSON] = job_set["spec"]["replicatedJobs"]
    return next(each for each in jobs if each["name"] == name)


def only(job_set: JSON, name: str = "node", container: str = "node") -> JSON:
    """A container of a replicated job."""
    containers: list[JSON] = pod_spec(job_set, name)["containers"]
    return next(each for each in containers if each["name"] == container)


def variables(container: Mapping[str, Any]) -> dict[str, Any]:
    """The environment of a container: what each has for a value."""
    return {each["name"]: each.get("value") for each in container.get("env", ())}


def controlled_by(train_job: JSON) -> JSON:
    """The ownerReference of everything that a manager makes for the stored TrainJob `a`."""
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "name": "a",
        "uid": train_job["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
