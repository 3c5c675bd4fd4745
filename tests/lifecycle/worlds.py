"""TrainJobs, JobSets and pods for the tests of this folder, in wire form."""

from datetime import UTC, datetime, timedelta
from typing import Any

from trainer_infra import catalog
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.render import pipeline, snapshot
from trainer_infra.render.observed_objects import ObservedObjects

RUNTIME = catalog.get("jax-distributed")
CREATED = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
NOW = CREATED + timedelta(seconds=30)
SUSPENDED = {
    "type": "Suspended",
    "status": "True",
    "reason": "Suspended",
    "message": "TrainJob is suspended",
    "lastTransitionTime": "2026-11-21T12:00:30Z",
}
COUNTS = {"name": "node", "ready": 1, "succeeded": 0, "failed": 0, "active": 1, "suspended": 0}


def job(
    status: dict[str, Any] | None = None, metadata: dict[str, Any] | None = None, **spec: Any
) -> TrainJob:
    """TrainJob n/tj on jax-distributed, created at CREATED."""
    wire: dict[str, Any] = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {
            "name": "tj",
            "namespace": "n",
            "creationTimestamp": "2026-11-21T12:00:00Z",
            **(metadata or {}),
        },
        "spec": {"runtimeRef": {"name": "jax-distributed"}, **spec},
    }
    if status is not None:
        wire["status"] = status
    return TrainJob.from_wire(wire)


def jobset(train_job: TrainJob, *conditions: dict[str, Any], **status: Any) -> dict[str, Any]:
    """The JobSet of a TrainJob with a status."""
    (rendered,) = pipeline.render(train_job, RUNTIME)
    return {**rendered, "status": {"conditions": list(conditions), **status}}


def condition(kind: str, status: str, reason: str, message: str = "m") -> dict[str, Any]:
    """A condition that changed 20 seconds after CREATED."""
    return {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": "2026-11-21T12:00:20Z",
    }


def seen(train_job: TrainJob, live: dict[str, Any] | None, **more: Any) -> ObservedObjects:
    """What a driver sees when the runtime snapshot is there."""
    return ObservedObjects(jobset=live, snapshot=snapshot.config_map(train_job, RUNTIME), **more)


def patch(manager: str = "acme.io/x", **replicated_job: Any) -> dict[str, Any]:
    """A runtime patch of one replicated job."""
    spec = {"replicatedJobs": [replicated_job]}
    return {"manager": manager, "trainingRuntimeSpec": {"template": {"spec": spec}}}


def pods_of(**spec: Any) -> dict[str, Any]:
    """A Job template with that PodSpec."""
    return {"spec": {"template": {"spec": spec}}}


def pod(name: str, *containers: dict[str, Any], **status: Any) -> dict[str, Any]:
    """A pod with container statuses."""
    return {
        "metadata": {"name": name},
        "status": {"phase": "Failed", "containerStatuses": list(containers), **status},
    }


def terminated(code: int, at: int = 10, name: str = "node", **state: Any) -> dict[str, Any]:
    """Status of a container that ended `at` seconds after CREATED."""
    ended = {"exitCode": code, "finishedAt": f"2026-11-21T12:00:{at:02}Z", **state}
    return {"name": name, "state": {"terminated": ended}}


def waits(reason: str, message: str = "", name: str = "node") -> dict[str, Any]:
    """Status of a container that waits."""
    return {"name": name, "state": {"waiting": {"reason": reason, "message": message}}}
