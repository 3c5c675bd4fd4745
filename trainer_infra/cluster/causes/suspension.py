"""A JobSet that is being deleted or is suspended: nothing is made of it."""

from collections.abc import Mapping
from typing import Any

from trainer_infra import names
from trainer_infra.cluster.causes.surroundings import Surroundings
from trainer_infra.lifecycle import conditions as of
from trainer_infra.lifecycle.waiting_cause import Cause, Waiting

JSON = Mapping[str, Any]


def waiting(jobset: JSON, around: Surroundings) -> Waiting | None:
    """Who holds the JobSet back; None when nobody does."""
    if "deletionTimestamp" in jobset["metadata"]:
        finalizers = ", ".join(jobset["metadata"].get("finalizers") or ())
        held = f", held by finalizer {finalizers}" if finalizers else ""
        return Waiting(Cause.DELETION, f"the end of its JobSet, which is being deleted{held}")
    if not (jobset["spec"] or {}).get("suspend"):
        return None
    if name := queue(jobset):
        return _kueue(name, around)
    return Waiting(Cause.SUSPENDED, "a resume: its JobSet was suspended")


def queue(jobset: JSON) -> str:
    """Kueue's queue of the JobSet; empty without one."""
    return str((jobset["metadata"].get("labels") or {}).get(names.KUEUE_QUEUE_LABEL, ""))


def _kueue(name: str, around: Surroundings) -> Waiting:
    if not around.has_kueue:
        sentence = (
            f"Kueue to admit it to queue {name}, but the cluster has no Kueue; install it, or raise "
            "attempt without the queue"
        )
        return Waiting(Cause.QUEUE_WITHOUT_KUEUE, sentence)
    conditions = ((around.workload or {}).get("status") or {}).get("conditions") or ()
    reserved = of.find(conditions, "QuotaReserved")
    said = f": {reserved['message']}" if reserved and reserved.get("message") else ""
    return Waiting(Cause.QUEUE, f"admission by Kueue to queue {name}{said}")
