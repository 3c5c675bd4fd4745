"""Kueue's objects for one namespace, and what others queue in it: made with kubectl, as people do."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from from_source.cluster import busybox
from tests.e2e.cluster import Namespace
from tests.e2e.jobs import Jobs, eventually
from trainer_infra import catalog, names
from trainer_infra.api.runtime import ClusterTrainingRuntime

JSON = dict[str, Any]

CPU = "100m"
"""What each run and each occupant asks for."""
TRAINER: JSON = {
    "numNodes": 1,
    "image": busybox.IMAGE,
    "command": ["sh", "-c", "trap 'exit 1' TERM; sleep 600 & wait"],
    "resourcesPerNode": {"requests": {"cpu": CPU}},
}
"""Runs until it is ended, and then ends at once."""


def runtime(**metadata: Any) -> ClusterTrainingRuntime:
    """A runtime of one try; `metadata` is its JobSet's."""
    wire = catalog.get("torch-distributed").to_wire()
    template = wire["spec"]["template"]
    template["metadata"] = metadata
    for job in template["spec"]["replicatedJobs"]:
        job["template"]["spec"]["backoffLimit"] = 0
        for container in job["template"]["spec"]["template"]["spec"]["containers"]:
            container["imagePullPolicy"] = "IfNotPresent"
    return ClusterTrainingRuntime.from_wire(wire)


@dataclass(frozen=True)
class Queues:
    """The queues of a namespace; cluster-wide names begin with its own."""

    namespace: Namespace

    def made(self, kind: str, name: str, spec: JSON, version: str = "v1beta2") -> str:
        """Make or change an object of Kueue; its name."""
        metadata = {"name": name, "namespace": self.namespace.name}
        value = {"apiVersion": f"{names.KUEUE_GROUP}/{version}", "kind": kind, "metadata": metadata}
        # What is cluster-wide has no namespace, and Kueue's priority class has no spec.
        if kind != names.LOCAL_QUEUE:
            del metadata["namespace"]
        content = spec if kind == "WorkloadPriorityClass" else {"spec": spec}
        self.namespace.kubectl(
            "apply", "--server-side", "-f", "-", given=json.dumps({**value, **content})
        )
        return name

    def flavor(self, name: str = "plain", **spec: Any) -> str:
        return self.made(names.RESOURCE_FLAVOR, f"{self.namespace.name}-{name}", spec)

    def cluster(
        self,
        quota: str = "1",
        flavors: Sequence[str] | None = None,
        checks: Sequence[str] = (),
        **spec: Any,
    ) -> str:
        """A ClusterQueue with so much CPU in each flavor."""
        resources = [{"name": "cpu", "nominalQuota": quota}]
        used = [self.flavor()] if flavors is None else flavors
        group = {
            "coveredResources": ["cpu"],
            "flavors": [{"name": each, "resources": resources} for each in used],
        }
        given: JSON = {"namespaceSelector": {}, "resourceGroups": [group], **spec}
        if checks:
            named = [{"name": each} for each in checks]
            given["admissionChecksStrategy"] = {"admissionChecks": named}
        return self.made(names.CLUSTER_QUEUE, f"{self.namespace.name}-all", given)

    def local(self, cluster_queue: str, **spec: Any) -> str:
        """A LocalQueue `team`."""
        return self.made(names.LOCAL_QUEUE, "team", {"clusterQueue": cluster_queue, **spec})

    def check(self, *, active: bool = True) -> str:
        """An AdmissionCheck that nothing but the test decides."""
        spec = {"controllerName": "trainer-infra.local/test"}
        name = self.made(names.ADMISSION_CHECK, f"{self.namespace.name}-check", spec)
        if active:
            time = "2026-11-22T12:00:00Z"
            condition = {"type": "Active", "status": "True", "reason": "Ok", "message": "it runs"}
            self.status(
                "admissionchecks", name, conditions=[condition | {"lastTransitionTime": time}]
            )
        return name

    def status(self, kind: str, name: str, **status: Any) -> None:
        """Change the status of an object, as its controller would."""
        patch = ("--subresource=status", "--type=merge", "-p", json.dumps({"status": status}))
        self.namespace.kubectl("patch", kind, name, *patch)

    def workload(self, owner: str = "tj") -> JSON:
        """The Workload of a JobSet, once Kueue made it."""

        def found() -> JSON | None:
            for each in self.namespace.all("workloads"):
                if each["metadata"]["ownerReferences"][0]["name"] == owner:
                    return each
            return None

        return dict(eventually(found))

    def has_quota(self, owner: str) -> bool:
        """Whether Kueue keeps quota for a JobSet."""
        return "Quota reserved in" in str(self.workload(owner).get("status"))

    def decide(self, **state: Any) -> None:
        """Decide the only AdmissionCheck of the run's Workload."""

        def checks() -> list[JSON]:
            found: list[JSON] = self.workload().get("status", {}).get("admissionChecks", [])
            return found

        (check,) = eventually(checks)
        self.status(
            "workloads", self.workload()["metadata"]["name"], admissionChecks=[check | state]
        )

    def occupant(self, name: str = "occupant", priority: str = "") -> None:
        """Another's JobSet in queue `team`."""
        labels = {names.KUEUE_QUEUE_LABEL: "team"}
        if priority:
            labels[names.KUEUE_PRIORITY_LABEL] = priority
        container = {
            "name": "work",
            "image": TRAINER["image"],
            "imagePullPolicy": "IfNotPresent",
            "command": TRAINER["command"],
            "resources": {"requests": {"cpu": CPU}},
        }
        pod = {"spec": {"restartPolicy": "Never", "containers": [container]}}
        job = {"name": "work", "template": {"spec": {"template": pod}}}
        value = {
            "apiVersion": names.JOBSET_API_VERSION,
            "kind": names.JOBSET,
            "metadata": {"name": name, "labels": labels},
            "spec": {"replicatedJobs": [job]},
        }
        self.namespace.kubectl("create", "-f", "-", given=json.dumps(value))

    def runs(self, owner: str) -> bool:
        """Whether a JobSet is not suspended."""
        return not self.namespace.one("jobsets", owner)["spec"].get("suspend")


def queued(namespace: Namespace, queue: str, **labels: str) -> Jobs:
    """Jobs that are in a queue."""
    more: Mapping[str, str] = {key.replace("_", "-"): labels[key] for key in labels}
    group = names.KUEUE_GROUP
    return Jobs(
        namespace,
        {names.KUEUE_QUEUE_LABEL: queue} | {f"{group}/{key}": more[key] for key in more},
    )
