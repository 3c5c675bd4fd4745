"""Why a run in a cluster does not go on, from what the cluster itself says. Pure.

Each file reads one kind of object; what is found by all of them is ordered by `runs.waiting_cause`.
"""

from datetime import datetime

from trainer_infra.json_values import JSONObject
from trainer_infra.runs import waiting_cause
from trainer_infra.runs.causes import containers, kueue_workload, node, schedule, steps
from trainer_infra.runs.causes.surroundings import Surroundings
from trainer_infra.runs.waiting_cause import Cause, Waiting


def waiting(
    jobset: JSONObject, pods: tuple[JSONObject, ...], around: Surroundings, now: datetime
) -> Waiting | None:
    """What the run waits for, by its JobSet, its pods and what else is known; None when for nothing."""
    if held := waiting_suspended(jobset, around, now):
        # Nothing is made meanwhile, but pods of before may still be there.
        return waiting_cause.first_cause((held, *node.lost_pods(pods, around.nodes)))
    found = (
        *node.lost_pods(pods, around.nodes),
        *containers.waiting_containers(pods),
        *steps.waiting_steps(jobset, pods, around),
        *schedule.waiting_claims(pods, around.events),
        *schedule.unscheduled_pods(pods, around.events),
        *containers.starting_pods(pods, around.events),
    )
    return waiting_cause.first_cause(found)


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
