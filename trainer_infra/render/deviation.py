"""The named deviations from the reference: where ours decides otherwise, and on purpose.

Every branch of render and lifecycle that differs from Kubeflow Trainer v2.3.0 asks for one of these
(`Draft.ours`, `Behaviour.ours`). The values are the ids of docs/compatibility.md.
"""

from enum import StrEnum
from typing import Final


class Deviation(StrEnum):
    """One thing that ours does better; the value is its id in docs/compatibility.md."""

    __hash__ = str.__hash__  # Enum's own is Python code, and every rendering looks members up.

    Q1 = "Q1"
    """A TrainJob without spec.trainer gets its framework's variables and port too."""
    Q2 = "Q2"
    """Processes are counted from the resources that the pod gets, not from resourcesPerNode."""
    Q4 = "Q4"
    """Addresses follow the trainer's own job name and network.subdomain."""
    Q5 = "Q5"
    """An unknown MPI implementation is refused at validation, not at each reconcile."""
    Q7 = "Q7"
    """A TrainJob's name that is too long for JobSet is refused."""
    Q8 = "Q8"
    """A patch that JobSet would refuse on the JobSet that exists is refused."""
    Q9 = "Q9"
    """An update is judged against the TrainJob's snapshot, and only where it could matter."""
    Q10 = "Q10"
    """Patches name what the runtime has; runtimes are judged at updates and have one gang policy."""
    Q11 = "Q11"
    """An initializer is its regular container, and one for `cache://` needs no volume."""
    Q12 = "Q12"
    """An immutable field of the spec can be neither added nor removed."""
    Q13 = "Q13"
    """An unsupported runtime ends the TrainJob; a JobSet past its deadline is deleted until gone."""
    Q15 = "Q15"
    """A gang counts the pods that can exist together, not those of jobs that start after others."""
    Q17 = "Q17"
    """Unnamed ports stay apart, and a volume that gets another source loses the old one."""
    Q18 = "Q18"
    """Flux: numNodes may be the runtime's, the command is quoted, GPUs are shared out."""
    Q21 = "Q21"
    """The PodGroup of a TrainJob without nodes has one member, as an API server demands."""
    ENV_VAR = "env-var"
    """The source of an environment variable is kept as it is written."""
    TORCHTUNE = "torchtune"
    """TorchTune's validation counts the nodes of the runtime too."""
    SCHEDULER = "scheduler"
    """KAI, YuniKorn and Kueue by annotation."""
    NUM_NODES = "num-nodes"
    """A negative numNodes is refused."""
    RESOURCES = "resources"
    """Requests above their limits are refused once both are merged with the runtime's."""
    TTL = "ttl"
    """A finished TrainJob is deleted by annotation."""
    RUNTIME = "runtime"
    """A runtime that is not sound is refused for each TrainJob on it, and one without jobs always."""
    PATCHES = "patches"
    """Two patches that set one field to different values are said."""
    SNAPSHOT = "snapshot"
    """A runtime is copied once it can be rendered."""
    OWNER = "owner"
    """A JobSet that is not the TrainJob's own is left alone, and is not its end."""
    DELETION = "deletion"
    """A TrainJob that is being deleted is left alone."""
    RESUME = "resume"
    """A resume removes the Suspended condition, and the deadline counts from JobSet's own."""
    FAILED = "failed"
    """Failed is final."""
    FAILURE_REASON = "failure-reason"
    """The Failed message names the pod that failed first, and why, or how long the deadline was."""
    WAITING = "waiting"
    """Why a TrainJob does not go on is in an annotation, which a column shows."""
    EVENTS = "events"
    """Transitions and waiting pods are events, and no event repeats another."""
    ADVICE = "advice"
    """A refusal names the field and says what to do about it."""


ALL: Final = frozenset(Deviation)
"""Every deviation: how ours behaves unless it is asked for the reference's behaviour."""
