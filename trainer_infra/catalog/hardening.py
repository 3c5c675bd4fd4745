"""Hardened variants of runtimes: the same jobs, with what the pack `restricted` asks of every pod.

The runtimes of the reference stay as it ships them. `catalog.find` makes the variant of a shipped one by its
name, such as `torch-distributed-hardened`; those of a framework in `WITHOUT` have none.
"""

from dataclasses import replace
from typing import Final, TypeVar

from trainer_infra import names
from trainer_infra.api.runtime import ClusterTrainingRuntime, TrainingRuntime
from trainer_infra.catalog.mpi import USER
from trainer_infra.catalog.shipped_runtime import ShippedRuntime
from trainer_infra.json_values import JSONDict

AnyRuntime = TypeVar("AnyRuntime", TrainingRuntime, ClusterTrainingRuntime)

SUFFIX: Final = "-hardened"
WITHOUT: Final = {
    "flux": "the plugin installs Flux into the pod as root",
    "torchtune": "Trainer reads the model from the runtime's name",
}
"""Frameworks without a variant, and why."""
_POD: Final = {
    "runAsNonRoot": True,
    "runAsUser": USER,
    "runAsGroup": USER,
    "fsGroup": USER,
    "seccompProfile": {"type": "RuntimeDefault"},
}
_CONTAINER: Final = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
_HOME: Final = ({"name": "HOME", "value": "/tmp"}, {"name": "USER", "value": "trainer"})  # noqa: S108  of the container
"""Of a user whom most images do not know: libraries ask for both."""
_SHARED_MEMORY, _PATH = "shared-memory", "/dev/shm"  # noqa: S108  of the container


def variant(shipped: ShippedRuntime) -> ShippedRuntime | None:
    """The hardened variant of a shipped runtime; None for a framework in `WITHOUT`."""
    if shipped.framework in WITHOUT:
        return None
    return replace(
        shipped,
        name=f"{shipped.name}{SUFFIX}",
        purpose=f"{shipped.purpose}; for restricted namespaces",
        spec=lambda: hardened(shipped.runtime()).spec,
    )


def hardened(runtime: AnyRuntime) -> AnyRuntime:
    """The runtime of the same name with pods that run as a user without rights.

    The user and the group of the volumes are 1000, processes gain no rights and have no capabilities, calls of the
    kernel are filtered, tokens of the API server are mounted only for a service account that is named, and nodes
    have a memory volume at /dev/shm. What a container says itself holds.
    """
    wire = runtime.to_wire()
    is_mpi = "mpi" in (wire["spec"].get("mlPolicy") or {})
    for job in wire["spec"]["template"]["spec"]["replicatedJobs"]:
        _harden(job["template"]["spec"]["template"]["spec"], is_mpi=is_mpi)
    return type(runtime).from_wire(wire)


def _harden(pod: JSONDict, *, is_mpi: bool) -> None:
    pod["securityContext"] = {**_POD, **(pod.get("securityContext") or {})}
    if not pod.get("serviceAccountName"):
        pod.setdefault("automountServiceAccountToken", False)
    for container in (*pod.get("initContainers", ()), *pod["containers"]):
        container["securityContext"] = {**_CONTAINER, **(container.get("securityContext") or {})}
        if not is_mpi:
            env = container.setdefault("env", [])
            known = {each["name"] for each in env}
            env += (each for each in _HOME if each["name"] not in known)
        mounts = container.get("volumeMounts") or []
        if container["name"] == names.NODE and all(each["mountPath"] != _PATH for each in mounts):
            container["volumeMounts"] = [*mounts, {"name": _SHARED_MEMORY, "mountPath": _PATH}]
            volume = {"name": _SHARED_MEMORY, "emptyDir": {"medium": "Memory"}}
            pod.setdefault("volumes", []).append(volume)
