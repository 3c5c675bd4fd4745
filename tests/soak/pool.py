"""A pool of 64 nodes with 8 GPUs each that kwok plays, and jobs that want to run on them."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from from_source.cluster import busybox, kubectl, kwok
from tests.e2e.cluster import Namespace
from tests.e2e.jobs import eventually
from trainer_infra import names

JSON = dict[str, Any]

BLOCK: Final = "topology.example.com/block"
RACK: Final = "topology.example.com/rack"
POOL: Final = {"pool": "h100"}
"""Label of every node."""
GPU: Final = "nvidia.com/gpu"
GPUS: Final = 8
"""Of a node."""
_RACKS: Final = {"east": ("a", "b"), "west": ("c", "d")}
"""Racks of each block."""
_NODES: Final = 16
"""Of a rack."""
_CAPACITY: Final = {"cpu": "96", "memory": "1Ti", "pods": "110", GPU: str(GPUS)}
SETTINGS: Final = f"BLOCK, RACK, POOL, GPU = {BLOCK!r}, {RACK!r}, {POOL!r}, {GPU!r}\n"
"""Begins a program about the pool."""


def nodes() -> Iterable[JSON]:
    """2 blocks of 2 racks of 16 nodes."""
    for block, racks in _RACKS.items():
        for rack in racks:
            for number in range(_NODES):
                labels = {BLOCK: block, RACK: rack, **POOL}
                yield kwok.node(f"kwok-{rack}-{number:02}", labels, _CAPACITY)


def job_set(name: str, queue: str, count: int, priority: str = "", **annotations: str) -> JSON:
    """A JobSet with a pod for each of so many whole nodes.

    Args:
        name: its name.
        queue: its LocalQueue.
        count: how many nodes.
        priority: its WorkloadPriorityClass.
        annotations: of its pods, after `kueue.x-k8s.io/`; `_` stands for `-`.
    """
    labels = {names.KUEUE_QUEUE_LABEL: queue}
    if priority:
        labels[names.KUEUE_PRIORITY_LABEL] = priority
    container = {
        "name": "node",
        "image": busybox.IMAGE,
        "resources": {"requests": {GPU: str(GPUS)}, "limits": {GPU: str(GPUS)}},
    }
    marks = {
        f"{names.KUEUE_GROUP}/{key.replace('_', '-')}": annotations[key] for key in annotations
    }
    pod = {
        "metadata": {"annotations": marks},
        "spec": {"restartPolicy": "Never", "containers": [container]},
    }
    job = {"parallelism": count, "completions": count, "backoffLimit": 0, "template": pod}
    return {
        "apiVersion": names.JOBSET_API_VERSION,
        "kind": names.JOBSET,
        "metadata": {"name": name, "labels": labels},
        "spec": {"replicatedJobs": [{"name": "node", "template": {"spec": job}}]},
    }


def node_labels(kubeconfig: Path, label: str) -> dict[str, str]:
    """A label of each node of the pool."""
    printed = kubectl.run("--kubeconfig", str(kubeconfig), "get", "nodes", "--output=json")
    listed = [each["metadata"] for each in json.loads(printed)["items"]]
    return {each["name"]: each["labels"][label] for each in listed if label in each["labels"]}


@dataclass(frozen=True)
class Team:
    """A namespace of the pool's cluster, and what it runs there."""

    namespace: Namespace

    def submit(self, value: JSON) -> None:
        """Create a JobSet."""
        self.namespace.kubectl("create", "-f", "-", given=json.dumps(value))

    def delete(self, *job_sets: str) -> None:
        """Delete JobSets, and wait until they are gone."""
        self.namespace.kubectl("delete", "jobsets", *job_sets)

    def workload(self, job_set: str) -> JSON:
        """The Workload that Kueue made of a JobSet."""

        def found() -> JSON | None:
            for each in self.namespace.all("workloads"):
                if each["metadata"]["ownerReferences"][0]["name"] == job_set:
                    return each
            return None

        return dict(eventually(found))

    def condition(self, job_set: str, kind: str) -> JSON:
        """A condition of a JobSet's Workload; empty where it has none."""
        conditions = self.workload(job_set).get("status", {}).get("conditions", ())
        return next((each for each in conditions if each["type"] == kind), {})

    def holds(self, job_set: str, kind: str, status: str = "True") -> bool:
        """Whether a condition of its Workload has that status."""
        return bool(self.condition(job_set, kind).get("status") == status)

    def await_condition(self, job_set: str, kind: str, status: str = "True") -> JSON:
        """The condition, once it has that status."""
        eventually(lambda: self.holds(job_set, kind, status))
        return self.condition(job_set, kind)

    def places(self, job_set: str) -> dict[str, str]:
        """Nodes of a JobSet's running pods, by pod."""
        return {
            each["metadata"]["name"]: each["spec"]["nodeName"]
            for each in self.namespace.all("pods")
            if each["metadata"]["labels"][names.JOBSET_NAME_LABEL] == job_set
            and each["status"]["phase"] == "Running"
        }

    def await_places(self, job_set: str, count: int) -> dict[str, str]:
        """The nodes, once so many pods run."""
        eventually(lambda: len(self.places(job_set)) == count)
        return self.places(job_set)
