"""A run of engine `controller` as it is now, from its TrainJob and what was observed. Pure.

The status is the one that the controller wrote; what we say beyond it are the sentences of every
engine: which pod ended a run and how, what its last report was, and what it waits for.
"""

from dataclasses import replace
from datetime import datetime
from typing import Final

from trainer_infra import names
from trainer_infra.cluster import decided_status
from trainer_infra.cluster.run_store import Record
from trainer_infra.json_values import JSONObject
from trainer_infra.lifecycle import conditions, deadline
from trainer_infra.lifecycle.status import Delegation
from trainer_infra.runs import reports, view, waiting_cause
from trainer_infra.runs.causes import kueue_workload
from trainer_infra.runs.run import FINISHED, Run
from trainer_infra.runs.view import Observation
from trainer_infra.runs.waiting_cause import Cause, Waiting

OTHERS: Final = Delegation(deadline=True, suspend=True)
"""Both are the controller's to decide."""


def queued_jobset(job: JSONObject, jobset: JSONObject) -> JSONObject:
    """A JobSet as its TrainJob is queued: Kueue reads the TrainJob, so the JobSet says nothing of it."""
    if not kueue_workload.queue_of(job):
        return jobset
    labels = job["metadata"]["labels"]
    queued = {
        key: labels[key]
        for key in (names.KUEUE_QUEUE_LABEL, names.KUEUE_PRIORITY_LABEL)
        if key in labels
    }
    metadata = {
        **jobset["metadata"],
        "labels": {**(jobset["metadata"].get("labels") or {}), **queued},
    }
    suspend = bool(job["spec"].get("suspend"))
    if suspend:
        # By these Kueue's Workload is found, and it is judged whether it is late.
        metadata |= {key: job["metadata"][key] for key in ("uid", "creationTimestamp")}
    return {**jobset, "metadata": metadata, "spec": {**jobset["spec"], "suspend": suspend}}


def current_run(record: Record, seen: Observation, host: str, now: datetime) -> Run:
    """As `RunStore.current_run`."""
    declared = replace(record.declared(host), drift=seen.drift)
    seen = replace(seen, reports=reports.by_pod(seen.pods, seen.lines))
    run = view.current_run(declared, replace(seen, status=_status(record, seen, now)), now)
    if seen.jobset is not None or run.phase in FINISHED:
        return run
    waiting = _without_jobset(record, seen)
    sentence, stuck = waiting_cause.cause_shown(waiting, now)
    return replace(run, waiting_for=sentence, cause=str(waiting.cause), stuck=stuck)


def _status(record: Record, seen: Observation, now: datetime) -> JSONObject:
    """The TrainJob's status, its failure with the pod that is its reason, and the last report."""
    stored: JSONObject = record.value.get("status") or {}
    found = tuple(stored.get("conditions") or ())
    is_users = bool(record.objects[-1]["spec"].get("suspend"))
    if seen.jobset is not None and kueue_workload.is_held(seen.jobset) and not is_users:
        # Kueue suspends what it holds; a user has not.
        found = conditions.without_condition(found, names.SUSPENDED)
    failed = conditions.find_condition(found, names.FAILED)
    if failed is not None and failed["status"] == "True":
        message = _message(record, seen, failed, now)
        found = conditions.with_condition(found, {**failed, "message": message})
    kept = {**stored, "conditions": list(found)} if "conditions" in stored else stored
    if seen.jobset is None or "trainerStatus" in stored:
        return kept
    leading = view.leading_report(seen.jobset, seen.pods, seen.reports)
    return {**kept, "trainerStatus": leading} if leading else kept


def _message(record: Record, seen: Observation, failed: JSONObject, now: datetime) -> str:
    """What the failure says, in the sentence of every engine."""
    if failed["reason"] == names.DEADLINE_EXCEEDED:
        seconds = record.job["spec"].get("activeDeadlineSeconds")
        return deadline.deadline_message(seconds) if seconds else str(failed["message"])
    if seen.jobset is None:
        return str(failed["message"])
    decided = decided_status.decided_status(record, seen, OTHERS, now)
    ours = conditions.find_condition(decided.get("conditions") or (), names.FAILED)
    is_same = ours is not None and ours["reason"] == failed["reason"]
    return str(ours["message"] if ours is not None and is_same else failed["message"])


def _without_jobset(record: Record, seen: Observation) -> Waiting:
    """What a run waits for whose TrainJob has no JobSet."""
    created = record.value["metadata"]["creationTimestamp"]
    warnings = [
        each
        for each in (seen.surroundings.events if seen.surroundings else ())
        if each.get("type") == "Warning"
    ]
    if warnings:
        why = f"JobSet {record.name} cannot be made: {warnings[-1].get('message', '')}"
        return Waiting(Cause.NOT_CREATED, why, created)
    silent = f"Kubeflow Trainer's controller has not made JobSet {record.name}"
    sentence = f"Kubeflow Trainer's controller to make JobSet {record.name}"
    return Waiting(Cause.TRAINER_CONTROLLER_SILENT, sentence, created, silent)
