"""Pods of a run: which step they are of, in which order, and how far they are. Pure.

Pods are Kubernetes' own objects in wire form, known by the labels that JobSet and the Job
controller give them; a local run's have the same.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from trainer_infra import names
from trainer_infra.json_values import JSONObject
from trainer_infra.render import resolve, resources

Place: TypeAlias = tuple[str, int, int]
"""Step, index of the Job in it, index of the pod in that: what every try of a pod has in common."""

SUFFIX: Final = 6
"""Characters that the Job controller adds to a pod's name: a dash and five of its own."""


def in_order(jobset: JSONObject | None, pods: Iterable[JSONObject]) -> tuple[JSONObject, ...]:
    """The pods by step, in the JobSet's order, then by index; of one index the oldest first."""
    listed = ((jobset or {}).get("spec") or {}).get("replicatedJobs") or ()
    order = {each["name"]: index for index, each in enumerate(listed)}

    def key(pod: JSONObject) -> tuple[Any, ...]:
        metadata = pod["metadata"]
        step_name, *indices = place_of(pod)
        return (
            order.get(step_name, len(order)),
            *indices,
            metadata.get("creationTimestamp", ""),
            metadata["name"],
        )

    return tuple(sorted(pods, key=key))


def name(pod: JSONObject) -> str:
    """The pod's own name."""
    return str(pod["metadata"]["name"])


def place_of(pod: JSONObject) -> Place:
    """Which pod of the JobSet it is, whatever the try."""
    labels = pod["metadata"].get("labels") or {}
    found = (labels.get(key, "0") for key in (names.JOB_INDEX_LABEL, names.COMPLETION_INDEX))
    job, index = (int(each) if str(each).isdigit() else 0 for each in found)
    return step_of(pod), job, index


def step_of(pod: JSONObject) -> str:
    """The replicated job that the pod is of."""
    return str((pod["metadata"].get("labels") or {}).get(names.REPLICATED_JOB_LABEL, ""))


def host_name(pod: JSONObject) -> str:
    """The pod's name without what makes it unique: `digits-node-0-1`."""
    return str(pod["metadata"]["name"])[:-SUFFIX]


def phase_of(pod: JSONObject) -> str:
    """`Pending`, `Running`, `Succeeded` or `Failed`; a pod whose node is lost counts as running."""
    found = str((pod.get("status") or {}).get("phase") or "Pending")
    return "Running" if found == "Unknown" else found


def node_of(pod: JSONObject) -> str:
    """The Kubernetes node that it runs on; empty before it has one."""
    return str((pod.get("spec") or {}).get("nodeName") or "")


def restart_count(pod: JSONObject) -> int:
    """How often its containers were started again."""
    return sum(each.get("restartCount", 0) for each in container_statuses(pod))


def gpu_count(pod: JSONObject) -> int:
    """Accelerators that its containers asked for."""
    listed = (pod.get("spec") or {}).get("containers") or ()
    return sum(resources.devices(each.get("resources") or {}) for each in listed)


def started_at(pod: JSONObject) -> str:
    """When the first of its containers started; empty before."""
    times = (
        (each.get(key) or {}).get(state, {}).get("startedAt")
        for each in container_statuses(pod)
        for key in ("lastState", "state")
        for state in ("running", "terminated")
    )
    return min((each for each in times if each), default="")


def container_statuses(pod: JSONObject) -> tuple[JSONObject, ...]:
    """Statuses of its containers, those that initialize it first."""
    status = pod.get("status") or {}
    return (
        *(status.get("initContainerStatuses") or ()),
        *(status.get("containerStatuses") or ()),
    )


def is_sidecar(pod: JSONObject, name: str) -> bool:
    """Whether it is an init container that runs beside the others and ends with them."""
    listed = (pod.get("spec") or {}).get("initContainers") or ()
    return any(each["name"] == name and each.get("restartPolicy") == "Always" for each in listed)


@dataclass(frozen=True, slots=True)
class Keepers:
    """Containers that keep a pod whose work has ended."""

    main: str
    """The container that did the work, and has ended for good."""
    exit_code: int
    """Its own."""
    going: tuple[str, ...]
    """Those that go on, by name."""

    def sentence(self) -> str:
        """One clause, and what to do."""
        going = " and ".join(self.going)
        who = going if len(self.going) == 1 else f"each of {going}"
        return (
            f"container {self.main} ended with {self.exit_code}; {who} keeps the pod: make it an init "
            "container with restartPolicy Always"
        )


def keepers_of(pod: JSONObject) -> Keepers | None:
    """What keeps the pod though its work has ended; None where nothing does."""
    statuses = (pod.get("status") or {}).get("containerStatuses") or ()
    states = {each["name"]: each.get("state") or {} for each in statuses}
    spec = pod.get("spec") or {}
    listed = [each["name"] for each in spec.get("containers") or statuses]
    main = resolve.main_container(step_of(pod), listed)
    ended = states.get(main, {}).get("terminated")
    going = tuple(sorted(name for name, each in states.items() if "running" in each))
    if not ended or not going or is_over(pod):
        return None
    code = ended.get("exitCode", 0)
    # With OnFailure the kubelet starts it again.
    is_again = code != 0 and spec.get("restartPolicy", "Never") != "Never"
    return None if is_again else Keepers(main, code, going)


def is_over(pod: JSONObject) -> bool:
    """Whether its containers have ended for good."""
    return phase_of(pod) in {"Succeeded", "Failed"}


def is_being_deleted(pod: JSONObject) -> bool:
    """Whether it is being deleted, or was ended because it is not wanted any more."""
    return "deletionTimestamp" in pod["metadata"]
