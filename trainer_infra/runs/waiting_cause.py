"""Why a run does not go on: every cause, and what a gate does about it.

docs/waiting.md has a row for each, and tests/e2e makes each for real.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Final


class Cause(StrEnum):
    """What a run waits for; the value is its id in docs/waiting.md and in `Run.cause`.

    In the order in which they are looked for: of several that hold, the first one of those that end
    a gate soon is shown, else the first.
    """

    __hash__ = str.__hash__

    SUBMIT = "submit"
    DELETION = "deletion"
    SUSPENDED = "suspended"
    QUEUE = "queue"
    QUEUE_CLOSED = "queue-closed"
    NODE_LOST = "node-lost"
    IMAGE = "image"
    OBJECT_MISSING = "object-missing"
    CONTAINER_CANNOT_START = "container-cannot-start"
    SIDECAR_CRASH_LOOP = "sidecar-crash-loop"
    HANG = "hang"
    INVALID = "invalid"
    QUOTA_TOO_SMALL = "quota-too-small"
    QUOTA_USED_UP = "quota-used-up"
    QUOTA_UNANSWERED = "quota-unanswered"
    LIMIT_RANGE = "limit-range"
    POD_SECURITY = "pod-security"
    SERVICE_ACCOUNT_MISSING = "service-account-missing"
    PRIORITY_CLASS_MISSING = "priority-class-missing"
    RUNTIME_CLASS_MISSING = "runtime-class-missing"
    POLICY = "policy"
    WEBHOOK_UNAVAILABLE = "webhook-unavailable"
    NAME_TAKEN = "name-taken"
    NOT_CREATED = "not-created"
    CLAIM_MISSING = "claim-missing"
    CLAIM_UNBOUND = "claim-unbound"
    PREEMPTED = "preempted"
    UNSCHEDULABLE = "unschedulable"
    SCHEDULING_GATE = "scheduling-gate"
    SCHEDULER_SILENT = "scheduler-silent"
    CRASH_LOOP = "crash-loop"
    NEXT_POD = "next-pod"
    SIDE_CONTAINER = "side-container"
    MOUNT = "mount"
    SANDBOX = "sandbox"
    IMAGE_PULLED = "image-pulled"
    INITIALIZING = "initializing"
    STARTING = "starting"
    TRAINER_CONTROLLER_SILENT = "trainer-controller-silent"
    JOBSET_CONTROLLER_SILENT = "jobset-controller-silent"
    JOB_CONTROLLER_SILENT = "job-controller-silent"
    EARLIER_STEP = "earlier-step"


@dataclass(frozen=True, slots=True)
class Gate:
    """What a gate does about a cause."""

    ends_after: float | None
    """Seconds for which the cause must last until the gate ends; None: it waits on."""
    because: str
    """Why; as docs/waiting.md has it."""


@dataclass(frozen=True, slots=True)
class Waiting:
    """What one run waits for now."""

    cause: Cause
    sentence: str
    """One clause that names the object, and what the cluster says of it."""
    since: str = ""
    """RFC 3339 time from which on it may have lasted; empty when not known."""
    verdict: str = ""
    """The clause in its place once it has lasted for `QUIET` seconds; empty: the same."""


AT_ONCE: Final = 3.0
"""Seconds for what only you can change; not none, for one look may fall into a change."""
SOON: Final = 30.0
"""Seconds for what another program may still be about to write."""
LATE: Final = 120.0
"""Seconds for a component that restarts, or chooses a new leader."""
LONG: Final = 600.0
"""Seconds for storage that is moved from one node to another, which Kubernetes forces after 360."""

QUIET: Final = 5.0
"""Seconds after which the silence of a component is worth a word."""

_WRITTEN: Final = "its writer may be about to make it"

GATES: Final[Mapping[Cause, Gate]] = {
    Cause.SUBMIT: Gate(None, "another `pulumi up` may be at it; your next one submits it"),
    Cause.DELETION: Gate(None, "it ends by itself: then the run is lost or gone"),
    Cause.SUSPENDED: Gate(None, "it was suspended on purpose"),
    Cause.QUEUE: Gate(None, "Kueue admits it when its turn comes"),
    Cause.QUEUE_CLOSED: Gate(SOON, "Kueue cannot admit it before you change something"),
    Cause.NODE_LOST: Gate(AT_ONCE, "the pod cannot be seen or ended before the node is back"),
    Cause.IMAGE: Gate(AT_ONCE, "the kubelet asks the same registry for the same name again"),
    Cause.OBJECT_MISSING: Gate(SOON, _WRITTEN),
    Cause.CONTAINER_CANNOT_START: Gate(AT_ONCE, "the kubelet tries the same again"),
    Cause.SIDECAR_CRASH_LOOP: Gate(
        SOON, "the kubelet starts it again without end; Jobs do not count"
    ),
    Cause.HANG: Gate(SOON, "a rank that has hung for so long goes on only if you help"),
    Cause.INVALID: Gate(AT_ONCE, "the same object is invalid at each try"),
    Cause.QUOTA_TOO_SMALL: Gate(AT_ONCE, "it would not fit if all others ended"),
    Cause.QUOTA_USED_UP: Gate(None, "others end and make room"),
    Cause.QUOTA_UNANSWERED: Gate(AT_ONCE, "the same pod lacks the same request at each try"),
    Cause.LIMIT_RANGE: Gate(AT_ONCE, "the same pod is out of the same limits at each try"),
    Cause.POD_SECURITY: Gate(AT_ONCE, "the same pod breaks the same standard at each try"),
    Cause.SERVICE_ACCOUNT_MISSING: Gate(SOON, _WRITTEN),
    Cause.PRIORITY_CLASS_MISSING: Gate(SOON, _WRITTEN),
    Cause.RUNTIME_CLASS_MISSING: Gate(SOON, _WRITTEN),
    Cause.POLICY: Gate(SOON, "a policy may look at what changes in seconds, seldom at more"),
    Cause.WEBHOOK_UNAVAILABLE: Gate(SOON, "its pods may be restarting"),
    Cause.NAME_TAKEN: Gate(SOON, "what an earlier run left is deleted within seconds"),
    Cause.NOT_CREATED: Gate(LATE, "a reason that is not known here may pass"),
    Cause.CLAIM_MISSING: Gate(SOON, _WRITTEN),
    Cause.CLAIM_UNBOUND: Gate(None, "its provisioner may take minutes"),
    Cause.PREEMPTED: Gate(None, "the pods that took its place end"),
    Cause.UNSCHEDULABLE: Gate(None, "other pods end, and an autoscaler adds nodes"),
    Cause.SCHEDULING_GATE: Gate(None, "the controller that set the gate removes it"),
    Cause.SCHEDULER_SILENT: Gate(LATE, "a scheduler says within seconds what it thinks of a pod"),
    Cause.CRASH_LOOP: Gate(None, "the Job counts the tries and ends by itself"),
    Cause.NEXT_POD: Gate(None, "the Job counts the tries and ends by itself"),
    Cause.SIDE_CONTAINER: Gate(None, "a container that uploads or cleans up ends by itself"),
    Cause.MOUNT: Gate(LONG, "a volume may have to leave another node first"),
    Cause.SANDBOX: Gate(LATE, "the node's network may be starting"),
    Cause.IMAGE_PULLED: Gate(None, "large images take their time"),
    Cause.INITIALIZING: Gate(None, "your container runs"),
    Cause.STARTING: Gate(None, "the kubelet is at it, and says when it fails"),
    Cause.TRAINER_CONTROLLER_SILENT: Gate(LATE, "Kubeflow Trainer makes a JobSet within seconds"),
    Cause.JOBSET_CONTROLLER_SILENT: Gate(LATE, "JobSet writes a status within seconds"),
    Cause.JOB_CONTROLLER_SILENT: Gate(LATE, "Kubernetes makes or refuses pods within seconds"),
    Cause.EARLIER_STEP: Gate(None, "that step ends or fails by itself"),
}
"""What a gate does about each cause, in the order of the causes."""


def first_cause(found: tuple[Waiting, ...]) -> Waiting | None:
    """The one to show: of those that end a gate soon the first, else the first, by their order."""
    order = list(GATES)
    by_rank = sorted(found, key=lambda each: (not _ends_soon(each.cause), order.index(each.cause)))
    return by_rank[0] if by_rank else None


def cause_shown(waiting: Waiting, now: datetime) -> tuple[str, str]:
    """What a run waits for as of now, and the same when it will not go on unless you help.

    What a component may still do counts from when it could begin to; the rest counts at once.
    """
    limit, age = ends_after(waiting.cause), 0.0
    if waiting.since:
        age = (now - datetime.fromisoformat(waiting.since)).total_seconds()
    sentence = waiting.verdict if waiting.verdict and age >= QUIET else waiting.sentence
    is_late = limit is not None and (_ends_soon(waiting.cause) or age >= limit)
    return sentence, sentence if is_late else ""


def ends_after(cause: str) -> float | None:
    """Seconds for which a cause of `Run.cause` must last until a gate ends; None where it waits on."""
    return GATES[Cause(cause)].ends_after if cause else None


def _ends_soon(cause: Cause) -> bool:
    limit = ends_after(cause)
    return limit is not None and limit <= SOON
