"""Hardened variants of runtimes: the same jobs, with what the pack `restricted` asks of every pod.

The runtimes of the reference stay as it ships them. `catalog.find` makes the variant of a shipped one by its
name, such as `torch-distributed-hardened`; those of a framework in `WITHOUT` have none.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, TypeVar

from trainer_infra import names
from trainer_infra.api.runtime import ClusterTrainingRuntime, TrainingRuntime
from trainer_infra.catalog.mpi import USER
from trainer_infra.catalog.shipped_runtime import ShippedRuntime
from trainer_infra.json_values import JSONDict, JSONObject

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
_SHARED_MEMORY: Final = "shared-memory"


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
    spec = wire["spec"]["template"]["spec"]
    is_mpi = "mpi" in (wire["spec"].get("mlPolicy") or {})
    jobs = [_job(each, is_mpi=is_mpi) for each in spec["replicatedJobs"]]
    wire["spec"]["template"]["spec"] = {**spec, "replicatedJobs": jobs}
    return type(runtime).from_wire(wire)


def _job(job: JSONObject, *, is_mpi: bool) -> JSONDict:
    job_spec = job["template"]["spec"]
    pod = job_spec["template"]["spec"]
    context = {**_POD, **(pod.get("securityContext") or {})}
    made: JSONDict = {**pod, "securityContext": context}
    if not pod.get("serviceAccountName"):
        made.setdefault("automountServiceAccountToken", False)
    for key in ("initContainers", "containers"):
        if key in pod:
            made[key] = [_container(each, is_mpi=is_mpi) for each in pod[key]]
    if any(each["name"] == names.NODE for each in pod["containers"]):
        volume = {"name": _SHARED_MEMORY, "emptyDir": {"medium": "Memory"}}
        made["volumes"] = [*(pod.get("volumes") or ()), volume]
    template = {**job_spec["template"], "spec": made}
    return {**job, "template": {**job["template"], "spec": {**job_spec, "template": template}}}


def _container(container: JSONObject, *, is_mpi: bool) -> JSONDict:
    made: dict[str, Any] = dict(container)
    made["securityContext"] = {**_CONTAINER, **(container.get("securityContext") or {})}
    if not is_mpi:
        own: list[Mapping[str, Any]] = list(container.get("env") or ())
        known = {each["name"] for each in own}
        made["env"] = [*own, *(each for each in _HOME if each["name"] not in known)]
    if container["name"] == names.NODE:
        mount = {"name": _SHARED_MEMORY, "mountPath": "/dev/shm"}  # noqa: S108  of the container
        made["volumeMounts"] = [*(container.get("volumeMounts") or ()), mount]
    return made
