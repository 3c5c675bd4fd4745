"""Why Kueue does not start a queued JobSet: every cause, and whether a gate ends on it. Data.

Read by `kueue_workload`, which finds the cause; docs/kubernetes.md lists them by the same ids. The
rule for `ends`: only an edit by a person helps. A state that is made to pass (quota that is used, a
queue that an administrator holds, a check, a backoff) is waited for, however long it takes.
"""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class KueueCause:
    """One reason for which Kueue does not start a JobSet."""

    id: str
    """As in docs/kubernetes.md."""
    read: str
    """Where the cluster says so."""
    ends: bool = False
    """Whether a gate ends."""
    help: str = ""
    """What a person can do; empty where Kueue goes on by itself."""


ABSENT: Final = KueueCause(
    "kueue-absent",
    "the API server serves no Workload of kueue.x-k8s.io, and the JobSet is suspended",
    True,
    "install Kueue, or resume it by suspend=False or `trainer-infra resume`",
)
NO_WORKLOAD: Final = KueueCause(
    "kueue-no-workload",
    "no Workload has the label kueue.x-k8s.io/job-uid with the JobSet's UID",
    False,
    "look whether Kueue's controller runs and manages JobSets of this namespace",
)
NOT_MANAGED: Final = KueueCause(
    "kueue-not-managed",
    "the same, 60 s after the JobSet was made",
    True,
    "let Kueue manage JobSets of this namespace (integrations, managedJobsNamespaceSelector), or "
    "resume it by suspend=False or `trainer-infra resume`",
)
PRIORITY_CLASS: Final = KueueCause(
    "kueue-priority-class-missing",
    "the same, and there is no WorkloadPriorityClass or PriorityClass of the name the JobSet gives",
    True,
    "create it, or name another one",
)
FINISHED: Final = KueueCause(
    "kueue-finished",
    "condition Finished of the Workload, of a JobSet that has not ended",
    True,
    "raise attempt to run it again",
)
DEACTIVATED: Final = KueueCause(
    "kueue-deactivated",
    "spec.active of the Workload; its condition Evicted says why",
    True,
    "set spec.active of the Workload to true, or raise attempt to run it again",
)
LOCAL_QUEUE_MISSING: Final = KueueCause(
    "kueue-local-queue-missing",
    "condition QuotaReserved of the Workload",
    True,
    "create the LocalQueue, or name another queue",
)
LOCAL_QUEUE_STOPPED: Final = KueueCause(
    "kueue-local-queue-stopped",
    "condition QuotaReserved or Evicted of the Workload",
    False,
    "an administrator holds the LocalQueue: spec.stopPolicy",
)
CLUSTER_QUEUE_MISSING: Final = KueueCause(
    "kueue-cluster-queue-missing",
    "condition QuotaReserved of the Workload; condition Active of the ClusterQueue: Terminating",
    True,
    "create the ClusterQueue, or name another queue",
)
CLUSTER_QUEUE_STOPPED: Final = KueueCause(
    "kueue-cluster-queue-stopped",
    "condition QuotaReserved or Evicted of the Workload; condition Active of the ClusterQueue",
    False,
    "an administrator holds the ClusterQueue: spec.stopPolicy",
)
CLUSTER_QUEUE_INACTIVE: Final = KueueCause(
    "kueue-cluster-queue-inactive",
    "the same, for a reason that may pass, such as a check whose controller is not there yet; or "
    "the ClusterQueue may not be read",
    False,
    "look at the conditions of the ClusterQueue",
)
CLUSTER_QUEUE_INCOMPLETE: Final = KueueCause(
    "kueue-cluster-queue-incomplete",
    "condition Active of the ClusterQueue: a ResourceFlavor, AdmissionCheck or Topology is missing",
    True,
    "create what the ClusterQueue names, or name another queue",
)
NAMESPACE: Final = KueueCause(
    "kueue-namespace-not-matched",
    "condition QuotaReserved of the Workload",
    True,
    "label the namespace as spec.namespaceSelector of the ClusterQueue asks, or use another queue",
)
REQUESTS: Final = KueueCause(
    "kueue-requests-invalid",
    "condition QuotaReserved of the Workload",
    True,
    "change the requests and limits of the pods",
)
NEVER_FITS: Final = KueueCause(
    "kueue-never-fits",
    "condition QuotaReserved of the Workload: for each flavor more than it has at most, or no match",
    True,
    "ask for less, or raise the quota of the ClusterQueue",
)
QUOTA_USED: Final = KueueCause(
    "kueue-quota-used",
    "condition QuotaReserved of the Workload: quota is there, and used by others",
)
PREEMPTED: Final = KueueCause("kueue-preempted", "condition Evicted of the Workload: Preempted")
PODS_READY: Final = KueueCause(
    "kueue-pods-ready-timeout",
    "condition Evicted of the Workload: PodsReadyTimeout; Kueue tries again until it deactivates",
)
EVICTED: Final = KueueCause(
    "kueue-evicted",
    "condition Evicted of the Workload, for another reason: a failed node, a check to try again",
)
CHECKS: Final = KueueCause(
    "kueue-admission-check", "status.admissionChecks of the Workload, which has its quota"
)
GATED: Final = KueueCause(
    "kueue-gated",
    "condition QuotaReserved of the Workload: AdmissionGated",
    False,
    "what gated it takes the annotation kueue.x-k8s.io/admission-gated-by away",
)
STARTING: Final = KueueCause(
    "kueue-starting", "condition Admitted of the Workload, of a JobSet that is still suspended"
)
PENDING: Final = KueueCause(
    "kueue-pending", "condition QuotaReserved of the Workload: anything else, or nothing yet"
)

CAUSES: Final = (
    *(ABSENT, NO_WORKLOAD, NOT_MANAGED, PRIORITY_CLASS, FINISHED, DEACTIVATED),
    *(LOCAL_QUEUE_MISSING, LOCAL_QUEUE_STOPPED),
    *(CLUSTER_QUEUE_MISSING, CLUSTER_QUEUE_STOPPED, CLUSTER_QUEUE_INACTIVE),
    *(CLUSTER_QUEUE_INCOMPLETE, NAMESPACE, REQUESTS, NEVER_FITS, QUOTA_USED),
    *(PREEMPTED, PODS_READY, EVICTED, CHECKS, GATED, STARTING, PENDING),
)
"""All of them, in the order in which they are looked for."""
