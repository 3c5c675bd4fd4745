"""The runs of engine `controller`: what is known of a run stands on its TrainJob, which is the run.

Its UID is the run's, and it owns what else we store. Annotations say whose it is, what was applied
(without code and without values of Secrets) and, at the end, how it ended. A run that was run again has
another TrainJob; the UID of the first one stays the run's.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from typing_extensions import override

from trainer_infra import names
from trainer_infra.cluster import (
    decided_status,
    drift,
    record_fields,
    run_labels,
    served_kinds,
    unsupported_fields,
)
from trainer_infra.cluster.run_store import Record, RunParts, RunStore
from trainer_infra.errors import NotAvailable, Problem
from trainer_infra.json_values import JSONObject
from trainer_infra.kube.client import KubeClient
from trainer_infra.kube.refusals import Answer, NotFound, NotServed
from trainer_infra.kube.resource import CLUSTER_TRAINING_RUNTIME, TRAIN_JOB, TRAINING_RUNTIME
from trainer_infra.lifecycle import conditions, deadline
from trainer_infra.lifecycle.status import Delegation
from trainer_infra.runs import reports, view
from trainer_infra.runs.causes import kueue_workload
from trainer_infra.runs.run import FINISHED, Owner, Run, Submission, is_fixed
from trainer_infra.runs.waiting_cause import Cause, Waiting, cause_shown

OTHERS: Final = Delegation(deadline=True, suspend=True)
"""Both are the controller's to decide."""
_NOTES: Final = (
    names.OWNER_ANNOTATION,
    names.BACKEND_ANNOTATION,
    names.OBJECTS_ANNOTATION,
    names.FORMAT_ANNOTATION,
    names.CONTENT_ANNOTATION,
    names.UID_ANNOTATION,
)
"""Annotations that we write whole, besides how a run ended."""


class JobStore(RunStore):
    """TrainJobs that own their JobSets."""

    kind = TRAIN_JOB
    # The controller gives a JobSet no label of its TrainJob's.
    jobsets = ""
    objects_at = record_fields.in_annotations(names.OBJECTS_ANNOTATION)
    status_at = record_fields.in_annotations(names.STATUS_ANNOTATION)
    holder_first = False

    @override
    def object_name(self, job: str) -> str:
        return job

    @override
    def parts(self, submission: Submission) -> RunParts:
        key, objects = submission.key, submission.objects
        written = [each for each in objects if is_written(each, key.name)]
        written.sort(key=lambda each: each["kind"] == names.TRAIN_JOB)
        notes = {
            **record_fields.owner_notes(submission.owner),
            names.OBJECTS_ANNOTATION: record_fields.objects_text(written),
            names.FORMAT_ANNOTATION: str(record_fields.FORMAT),
            names.CONTENT_ANNOTATION: submission.content,
        }
        jobsets = (each for each in objects if each["kind"] == names.JOBSET)
        jobset = next(each for each in jobsets if each["metadata"]["name"] == key.name)
        *owned, job = written
        return RunParts(_with_notes(job, notes, key.namespace), tuple(owned), jobset)

    @override
    def problems(
        self, job: JSONObject, objects: Sequence[JSONObject], controller: str
    ) -> tuple[Problem, ...]:
        return unsupported_fields.of_engine_controller(job, objects, controller)

    @override
    async def require(self, client: KubeClient, submission: Submission) -> None:
        """Raise where the cluster has no TrainJobs, or not the runtime."""
        job = submission.job
        await served_kinds.require_train_jobs(client)
        ref = job["spec"].get("runtimeRef") or {}
        is_own = ref.get("kind") == names.TRAINING_RUNTIME
        kind = TRAINING_RUNTIME if is_own else CLUSTER_TRAINING_RUNTIME
        namespace = job["metadata"]["namespace"] if is_own else ""
        try:
            await client.get(kind, str(ref.get("name")), namespace)
        except NotFound:
            place = f" in namespace {namespace}" if namespace else ""
            raise NotAvailable(
                f"TrainJob {job['metadata']['name']}: the cluster has no {kind.kind} {ref.get('name')}{place}, "
                "which Kubeflow Trainer's controller renders it with; create it, for example with the "
                f"resource {kind.kind} of docs/trainjob.md, or run `pulumi config set trainer:engine provider`"
            ) from None
        except (Answer, NotServed):
            # Who may not read runtimes hears of it from the controller.
            return

    @override
    def uid_of(self, value: JSONObject) -> str:
        first = (value["metadata"].get("annotations") or {}).get(names.UID_ANNOTATION)
        return str(first or super().uid_of(value))

    @override
    def job_of(self, value: JSONObject, objects: Sequence[JSONObject]) -> JSONObject:
        job = objects[-1] if objects else None
        wanted = (names.TRAIN_JOB, value["metadata"]["name"])
        if job is None or (job["kind"], job["metadata"]["name"]) != wanted:
            raise ValueError(f"{self.objects_at.shown}: has not this TrainJob at its end")
        suspend = bool((value.get("spec") or {}).get("suspend"))
        return {**job, "spec": {**(job.get("spec") or {}), "suspend": suspend}}

    @override
    def observation(
        self, record: Record, jobset: JSONObject | None, pods: Sequence[JSONObject]
    ) -> view.Observation:
        if jobset is None or not record.owns(jobset):
            return view.Observation(None, pods=tuple(pods) if jobset is None else ())
        return view.Observation(queued_jobset(record.value, jobset), pods=tuple(pods))

    @override
    def current_run(self, record: Record, seen: view.Observation, host: str, now: datetime) -> Run:
        # The status is the one that the controller wrote; what we say beyond it are the sentences of every
        # engine: which pod ended a run and how, what its last report was, and what it waits for.
        declared = replace(record.declared(host), drift=seen.drift)
        seen = replace(seen, reports=reports.by_pod(seen.pods, seen.lines))
        run = view.current_run(declared, replace(seen, status=_status(record, seen, now)), now)
        if seen.jobset is not None or run.phase in FINISHED:
            return run
        waiting = _without_jobset(record, seen)
        sentence, stuck = cause_shown(waiting, now)
        return replace(run, waiting_for=sentence, cause=str(waiting.cause), stuck=stuck)

    @override
    def owner_patch(self, record: Record, owner: Owner) -> JSONObject:
        marks = run_labels.labels_of(owner, record.name)
        objects = [run_labels.with_labels(each, marks) for each in record.objects]
        text = record_fields.objects_text(objects)
        notes = {**record_fields.owner_notes(owner), names.OBJECTS_ANNOTATION: text}
        return _whole(record, objects[-1], notes)

    @override
    def suspend_patch(self, record: Record, value: bool) -> JSONObject:
        return {**record.head(), "spec": {"suspend": value}}

    @override
    def repair_patch(self, record: Record) -> JSONObject | None:
        job = record.objects[-1]
        return _whole(record, job, {}) if drift.drifted_fields(job, record.value) else None

    @override
    def repeated_holder(self, record: Record) -> JSONObject:
        """The TrainJob, suspended as the user has it now."""
        job = record.objects[-1]
        whole = _whole(record, job, {names.UID_ANNOTATION: record.uid})
        metadata = {key: each for key, each in whole["metadata"].items() if key != "uid"}
        spec = dict(whole["spec"])
        if "suspend" in job["spec"]:
            spec["suspend"] = record.job["spec"]["suspend"]
        return {**whole, "metadata": metadata, "spec": spec}


def is_written(value: JSONObject, job: str) -> bool:
    """Whether we store the object, and the controller does not make it."""
    kind, name = value["kind"], value["metadata"]["name"]
    if kind == "ConfigMap":
        return is_fixed(value) and name.startswith(f"{job}{names.CODE_SUFFIX}-")
    return (kind, name) in {(names.TRAIN_JOB, job), ("Secret", f"{job}{names.SECRET_SUFFIX}")}


def _with_notes(job: JSONObject, notes: JSONObject, namespace: str) -> JSONObject:
    metadata = job["metadata"]
    both = {**(metadata.get("annotations") or {}), **notes}
    return {**job, "metadata": {**metadata, "namespace": namespace, "annotations": both}}


def _whole(record: Record, job: JSONObject, notes: JSONObject) -> JSONObject:
    """The patch that writes every field of ours again, with other annotations where some are given.

    All but `spec.suspend`, which is the user's or Kueue's: what a later patch leaves out is removed,
    so that none may have it.
    """
    before = record.value["metadata"].get("annotations") or {}
    kept = {key: before[key] for key in _NOTES if key in before}
    whole = _with_notes(job, {**kept, **notes}, record.namespace)
    spec = {key: each for key, each in whole["spec"].items() if key != "suspend"}
    return {**whole, "metadata": {**whole["metadata"], "uid": record.holder}, "spec": spec}


def queued_jobset(job: JSONObject, jobset: JSONObject) -> JSONObject:
    """A JobSet as its TrainJob is queued: Kueue reads the TrainJob, so the JobSet says nothing of it."""
    if not kueue_workload.queue_of(job):
        return jobset
    labels = job["metadata"]["labels"]
    read = (names.KUEUE_QUEUE_LABEL, names.KUEUE_PRIORITY_LABEL)
    queued = {key: labels[key] for key in read if key in labels}
    metadata = dict(run_labels.with_labels(jobset, queued)["metadata"])
    suspend = bool(job["spec"].get("suspend"))
    if suspend:
        # By these Kueue's Workload is found, and it is judged whether it is late.
        metadata |= {key: job["metadata"][key] for key in ("uid", "creationTimestamp")}
    return {**jobset, "metadata": metadata, "spec": {**jobset["spec"], "suspend": suspend}}


def _status(record: Record, seen: view.Observation, now: datetime) -> JSONObject:
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


def _message(record: Record, seen: view.Observation, failed: JSONObject, now: datetime) -> str:
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


def _without_jobset(record: Record, seen: view.Observation) -> Waiting:
    """What a run waits for whose TrainJob has no JobSet."""
    created = record.value["metadata"]["creationTimestamp"]
    events = seen.surroundings.events if seen.surroundings else ()
    warnings = [each for each in events if each.get("type") == "Warning"]
    if warnings:
        why = f"JobSet {record.name} cannot be made: {warnings[-1].get('message', '')}"
        return Waiting(Cause.NOT_CREATED, why, created)
    silent = f"Kubeflow Trainer's controller has not made JobSet {record.name}"
    sentence = f"Kubeflow Trainer's controller to make JobSet {record.name}"
    return Waiting(Cause.TRAINER_CONTROLLER_SILENT, sentence, created, silent)


JOBS: Final = JobStore()
