"""A JobSet that is being deleted or is suspended: nothing is made of it."""

from datetime import datetime

from trainer_infra.json_values import JSONObject
from trainer_infra.runs.causes import kueue_workload
from trainer_infra.runs.causes.surroundings import Surroundings
from trainer_infra.runs.waiting_cause import Cause, Waiting


def waiting_suspended(jobset: JSONObject, around: Surroundings, now: datetime) -> Waiting | None:
    """What holds the JobSet back; None when nothing does."""
    if "deletionTimestamp" in jobset["metadata"]:
        finalizers = ", ".join(jobset["metadata"].get("finalizers") or ())
        held = f", held by finalizer {finalizers}" if finalizers else ""
        return Waiting(Cause.DELETION, f"the end of its JobSet, which is being deleted{held}")
    if not (jobset["spec"] or {}).get("suspend"):
        return None
    if queued := kueue_workload.waiting_workload(jobset, around.queueing, now):
        closed = queued.ended()
        return Waiting(Cause.QUEUE_CLOSED if closed else Cause.QUEUE, closed or queued.sentence)
    return Waiting(Cause.SUSPENDED, "a resume: its JobSet was suspended")
