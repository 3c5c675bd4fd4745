"""Runs that need several pods at once, and the places that they compete for."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from from_source.cluster import base_image, busybox, live
from tests.e2e.cluster import Namespace
from tests.e2e.jobs import eventually
from trainer_infra import catalog
from trainer_infra.api.runtime import ClusterTrainingRuntime
from trainer_infra.platform import Coscheduling, Volcano

JSON = dict[str, Any]

SLOT = "trainer-infra.local/slot"
"""What a pod that trains takes one of; the node has as many as a test says."""
HERE = {"kubernetes.io/hostname": live.NODE}
"""The node that runs pods."""
TAKES = {"requests": {SLOT: 1}, "limits": {SLOT: 1}}


@dataclass(frozen=True)
class Gang:
    """A run of several jobs, as the shipped runtimes have them."""

    runtime: str
    """Name of the shipped runtime."""
    nodes: int
    command: str
    """What a node runs, or the launcher."""
    image: str
    members: int
    """Pods that have to find a place together: those of job `node`."""
    all: frozenset[str]
    """Every replicated job of it."""
    slots: int
    """What all pods that train take."""
    initializer: Mapping[str, Any]

    def trainer(self) -> JSON:
        command = ["sh", "-c", self.command]
        return {"numNodes": self.nodes, "command": command, "resourcesPerNode": TAKES}

    def on(self, scheduler: type[Coscheduling | Volcano]) -> ClusterTrainingRuntime:
        """Its runtime for a scheduler."""
        wire: JSON = dict(scheduler.gang_runtime(catalog.get(self.runtime).to_wire()))
        for job in wire["spec"]["template"]["spec"]["replicatedJobs"]:
            pod = job["template"]["spec"]["template"]["spec"]
            pod["nodeSelector"] = HERE
            for container in pod["containers"]:
                self._fit(container, job["name"])
        return ClusterTrainingRuntime.from_wire(wire)

    def _fit(self, container: JSON, job: str) -> None:
        container |= {"image": self.image, "imagePullPolicy": "IfNotPresent"}
        container.pop("resources", None)
        if job.endswith("-initializer"):
            container["command"] = ["true"]


TORCHTUNE = Gang(
    "torchtune-llama3.2-1b",
    2,
    "sleep 3",
    busybox.IMAGE,
    2,
    frozenset({"node", "dataset-initializer", "model-initializer"}),
    2,
    {"dataset": {"storageUri": "hf://a/b"}, "model": {"storageUri": "hf://a/b"}},
)
"""Two initializers, and nodes that wait until both have completed."""
MPI = Gang(
    "deepspeed-distributed",
    3,
    "mpirun hostname",
    base_image.NAME,
    2,
    frozenset({"node", "launcher"}),
    3,
    {},
)
"""Nodes, and a launcher that trains too and waits until they are ready."""


class Slots:
    """The node's slots, and a pod that takes one."""

    def __init__(self, namespace: Namespace) -> None:
        self._namespace = namespace

    def set(self, number: int) -> None:
        """Let the node have so many."""
        status = {key: {SLOT: str(number)} for key in ("capacity", "allocatable")}
        patch = ("--type=merge", "--subresource=status", "-p", json.dumps({"status": status}))
        self._namespace.kubectl("patch", "node", live.NODE, *patch)

    def occupy(self) -> None:
        """Take one, and return when it is taken."""
        container = {
            "name": "sleep",
            "image": busybox.IMAGE,
            "imagePullPolicy": "IfNotPresent",
            "command": ["sh", "-c", "trap 'exit 0' TERM; sleep 3600 & wait"],
            "resources": TAKES,
        }
        pod = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "occupant"},
            "spec": {"containers": [container], "nodeSelector": HERE},
        }
        self._namespace.kubectl("create", "-f", "-", given=json.dumps(pod))
        where = ("get", "pod", "occupant", "-o", "jsonpath={.status.phase}")
        eventually(lambda: self._namespace.kubectl(*where) == "Running")

    def leave(self) -> None:
        """Give it back."""
        self._namespace.kubectl("delete", "pod", "occupant", "--wait")
