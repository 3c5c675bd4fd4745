"""Two nodes that go on until a test ends them, and how one of them is told to end before."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from from_source.cluster import busybox
from tests.e2e.cluster import Namespace
from tests.e2e.jobs import eventually
from trainer_infra import FaultTolerance, catalog, names, with_fault_tolerance
from trainer_infra.api.runtime import ClusterTrainingRuntime

POLICIES: Final = ("with_fault_tolerance", "Kubernetes' own")
"""By the first a Job waits until a pod has ended, and counts it then; by the second it may be faster."""


def runtime(policy: str = POLICIES[0]) -> ClusterTrainingRuntime:
    """Nodes without a framework."""
    found = catalog.get("plain-distributed")
    wire = (
        with_fault_tolerance(found, FaultTolerance()) if policy == POLICIES[0] else found
    ).to_wire()
    for job in wire["spec"]["template"]["spec"]["replicatedJobs"]:
        for container in job["template"]["spec"]["template"]["spec"]["containers"]:
            container["imagePullPolicy"] = "IfNotPresent"
    return ClusterTrainingRuntime.from_wire(wire)


def trainer(code: int) -> dict[str, Any]:
    """Of two nodes, each of which goes on until it is told to end, and ends with that code then."""
    loop = "touch /tmp/on; until [ -e /tmp/end ]; do sleep 0.1; done"
    command = ["sh", "-c", f"trap 'exit {code}' TERM; {loop}"]
    return {"image": busybox.IMAGE, "command": command, "numNodes": 2}


@dataclass(frozen=True)
class Nodes:
    """The pods of TrainJob `tj` of a namespace."""

    namespace: Namespace

    def begun(self) -> None:
        """Return once both run."""
        eventually(lambda: all(map(self._is_on, (self.pod(0), self.pod(1)))))

    def pod(self, index: int) -> str:
        """The pod of that index that runs; empty where none does."""
        for each in self.namespace.all("pods"):
            metadata = each["metadata"]
            is_index = metadata["labels"].get(names.COMPLETION_INDEX) == str(index)
            if (
                is_index
                and each["status"]["phase"] == "Running"
                and "deletionTimestamp" not in metadata
            ):
                return str(metadata["name"])
        return ""

    def tell(self, how: str, index: int) -> str:
        """Tell a node to end, and return the name of its pod once that has ended."""
        pod = self.pod(index)
        TELLERS[how](self.namespace, pod)
        eventually(lambda: not self._is_going(pod))
        return pod

    def end(self, *indexes: int) -> None:
        """Let nodes reach their end, whatever pods are theirs until then."""
        eventually(lambda: all(map(self._has_ended, indexes)))

    def clean(self) -> None:
        """Delete every pod, and return once all are gone."""
        self.namespace.kubectl("delete", "pods", "--all")
        eventually(lambda: not self.namespace.names("pods"))

    def clean_ended(self) -> None:
        """Delete the pods that have succeeded, and return once they are gone."""
        self.namespace.kubectl("delete", "pods", "--field-selector=status.phase=Succeeded")
        eventually(
            lambda: all(
                each["status"]["phase"] != "Succeeded" for each in self.namespace.all("pods")
            )
        )

    def completed(self) -> None:
        """Return once the JobSet says so."""
        eventually(lambda: "Completed" in self._jobset_conditions())

    def _jobset_conditions(self) -> Mapping[str, Any]:
        ((status),) = [each.get("status") or {} for each in self.namespace.all("jobsets")]
        found = status.get("conditions") or ()
        return {each["type"]: each for each in found if each["status"] == "True"}

    def _has_ended(self, index: int) -> bool:
        pods = self.namespace.all("pods")
        mine = [
            each
            for each in pods
            if each["metadata"]["labels"].get(names.COMPLETION_INDEX) == str(index)
        ]
        if any(each["status"]["phase"] == "Succeeded" for each in mine):
            return True
        if pod := self.pod(index):
            self._try("exec", pod, "--", "touch", "/tmp/end")
        return False

    def _is_on(self, pod: str) -> bool:
        return bool(pod) and self._try("exec", pod, "--", "test", "-e", "/tmp/on")

    def _is_going(self, pod: str) -> bool:
        found = (each for each in self.namespace.all("pods") if each["metadata"]["name"] == pod)
        return any(each["status"]["phase"] == "Running" for each in found)

    def _try(self, *arguments: str) -> bool:
        """Whether kubectl could do that: the pod may go just now."""
        try:
            self.namespace.kubectl(*arguments)
        except AssertionError:
            return False
        return True


def _delete(namespace: Namespace, pod: str) -> None:
    namespace.kubectl("delete", "pod", pod, "--wait=false")


def _evict(namespace: Namespace, pod: str) -> None:
    """As `kubectl drain` does."""
    path = f"/api/v1/namespaces/{namespace.name}/pods/{pod}/eviction"
    metadata = {"name": pod, "namespace": namespace.name}
    value = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": metadata}
    namespace.kubectl("create", "--raw", path, "-f", "-", given=json.dumps(value))


TELLERS: Final[Mapping[str, Callable[[Namespace, str], None]]] = {
    "was deleted": _delete,
    "was evicted from its node": _evict,
}
"""By what a message says of it."""
