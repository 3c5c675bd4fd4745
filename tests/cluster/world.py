"""What a cluster does and a bare API server does not: statuses, pods, garbage collection.

Tests write through the API what JobSet, the kubelet and the controllers of Kubernetes would.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from from_source.cluster.client import Answer, Client
from trainer_infra import names

JSON = dict[str, Any]

JOBSETS = "/apis/jobset.x-k8s.io/v1alpha2/namespaces/{}/jobsets"
PLACES = {
    "ConfigMap": "/api/v1/namespaces/{}/configmaps",
    "Secret": "/api/v1/namespaces/{}/secrets",
    "Pod": "/api/v1/namespaces/{}/pods",
    "Event": "/api/v1/namespaces/{}/events",
    "Job": "/apis/batch/v1/namespaces/{}/jobs",
    "JobSet": JOBSETS,
    "Node": "/api/v1/nodes",
    "TrainJob": "/apis/trainer.kubeflow.org/v1alpha1/namespaces/{}/trainjobs",
    "ClusterTrainingRuntime": "/apis/trainer.kubeflow.org/v1alpha1/clustertrainingruntimes",
}
ENDED = {"Completed": names.ALL_JOBS_COMPLETED, "Failed": names.FAILED_JOBS}


@dataclass
class World:
    """One namespace of the API server."""

    client: Client
    namespace: str

    def path(self, kind: str, name: str = "") -> str:
        place = PLACES[kind].format(self.namespace)
        return f"{place}/{name}" if name else place

    def get(self, kind: str, name: str) -> JSON | None:
        answer = self.client.get(self.path(kind, name))
        assert answer.status in {200, 404}, answer
        return answer.body if answer.status == 200 else None

    def there(self, kind: str, name: str) -> JSON:
        found = self.get(kind, name)
        assert found is not None, f"{kind} {name} is not there"
        return found

    def names(self, kind: str) -> list[str]:
        items = self.client.get(self.path(kind)).body["items"]
        return sorted(each["metadata"]["name"] for each in items)

    def all_names(self) -> dict[str, list[str]]:
        found = {kind: self.names(kind) for kind in ("ConfigMap", "Secret", "JobSet")}
        return {kind: listed for kind, listed in found.items() if listed}

    def make(self, kind: str, value: JSON) -> JSON:
        return ok(self.client.create(self.path(kind), value))

    def change(self, kind: str, name: str, change: Callable[[JSON], None], **query: str) -> JSON:
        """Read, change and replace, as `kubectl edit` does."""
        value = self.there(kind, name)
        change(value)
        return ok(self.client.replace(self.path(kind, name), value, **query))

    def status(self, kind: str, name: str, status: JSON) -> JSON:
        value = {**self.there(kind, name), "status": status}
        return ok(self.client.replace(f"{self.path(kind, name)}/status", value))

    def end(self, kind: str, name: str = "tj", message: str = "") -> None:
        """Write the JobSet's terminal condition."""
        reason, said = ENDED[kind]
        condition = {
            "type": kind,
            "status": "True",
            "reason": reason,
            "message": message or said,
            "lastTransitionTime": "2026-11-21T12:01:00Z",
        }
        counts = {"ready": 0, "active": 0, "suspended": 0}
        counts |= {"succeeded": int(kind == "Completed"), "failed": int(kind == "Failed")}
        jobs = [
            {"name": each["name"], **counts}
            for each in self.there("JobSet", name)["spec"]["replicatedJobs"]
        ]
        self.status("JobSet", name, {"conditions": [condition], "replicatedJobsStatus": jobs})

    def pod(
        self, name: str = "tj-node-0-0-abcde", jobset: str = "tj", *, node: str = "", **status: Any
    ) -> JSON:
        """Make or update a pod of the JobSet's step `node`, as the kubelet would."""
        step, job, index = name.removeprefix(f"{jobset}-").split("-")[-4:-1]
        if self.get("Pod", name) is None:
            labels = {
                names.JOBSET_NAME_LABEL: jobset,
                names.REPLICATED_JOB_LABEL: step,
                names.JOB_INDEX_LABEL: job,
                names.COMPLETION_INDEX: index,
            }
            container = {"name": "node", "image": "none"}
            spec: JSON = {"containers": [container], "restartPolicy": "Never"}
            if node:
                spec["nodeName"] = node
            self.make("Pod", {"metadata": {"name": name, "labels": labels}, "spec": spec})
        return self.status("Pod", name, status)

    def event(self, pod: str, reason: str, message: str, at: str = "2998-01-01T12:00:00Z") -> None:
        """An event of a pod, as the kubelet writes it."""
        about = {"kind": "Pod", "name": pod, "namespace": self.namespace}
        said = {"reason": reason, "message": message, "type": "Normal", "lastTimestamp": at}
        metadata = {"name": f"{pod}.{reason.lower()}"}
        self.make("Event", {"metadata": metadata, "involvedObject": about, **said})

    def collect(self, kind: str, name: str) -> None:
        """Let an object go that waits for the garbage collector."""

        def gone(value: JSON) -> None:
            value["metadata"]["finalizers"] = []

        self.change(kind, name, gone)


def container(state: JSON, last: JSON | None = None, name: str = "node", restarts: int = 0) -> JSON:
    """A container's status."""
    return {
        "name": name,
        "image": "none",
        "imageID": "",
        "ready": "running" in state,
        "restartCount": restarts,
        "state": state,
        "lastState": last or {},
    }


def ended(code: int, reason: str = "Error", message: str = "", at: str = "50") -> JSON:
    """A container's state once it has ended."""
    time = f"2026-11-21T12:00:{at}Z"
    return {
        "terminated": {
            "exitCode": code,
            "reason": reason,
            "message": message,
            "startedAt": "2026-11-21T12:00:10Z",
            "finishedAt": time,
        }
    }


def waiting(reason: str, message: str = "") -> JSON:
    """A container's state before it runs."""
    return {"waiting": {"reason": reason, "message": message}}


RUNNING = {"running": {"startedAt": "2026-11-21T12:00:10Z"}}


def ok(answer: Answer) -> JSON:
    assert not answer.message, answer
    return answer.body


class Collector(threading.Thread):
    """Kubernetes' garbage collector, for JobSets that are deleted in the foreground."""

    def __init__(self, client: Client, namespace: str) -> None:
        super().__init__(daemon=True)
        self._world = World(client, namespace)
        self._over = threading.Event()

    def run(self) -> None:  # type: ignore[explicit-override]
        while not self._over.wait(0.05):
            for name in self._world.names("JobSet"):
                value = self._world.get("JobSet", name)
                if value and "foregroundDeletion" in (value["metadata"].get("finalizers") or ()):
                    # Somebody may write at the same time: then the next round does it.
                    value["metadata"]["finalizers"] = []
                    self._world.client.replace(self._world.path("JobSet", name), value)

    def end(self) -> None:
        self._over.set()
        self.join()


def eventually(what: Callable[[], Any], timeout: float = 300) -> Any:
    """The first true value of `what`."""
    until = time.monotonic() + timeout
    while not (value := what()):
        assert time.monotonic() < until, "it did not happen in time"
        time.sleep(0.02)
    return value
