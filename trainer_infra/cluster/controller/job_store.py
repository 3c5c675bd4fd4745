"""The runs of engine `controller`: what is known of a run stands on its TrainJob, which is the run.

Its UID is the run's, and it owns what else we store. Annotations say whose it is, what was applied
(without code and without values of Secrets) and, at the end, how it ended. A run that was run again has
another TrainJob; the UID of the first one stays the run's.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

from typing_extensions import override

from trainer_infra import names
from trainer_infra.cluster import (
    drift,
    live_objects,
    record_fields,
    rights,
    run_labels,
    served_kinds,
    unsupported_fields,
)
from trainer_infra.cluster.controller import observed_run
from trainer_infra.cluster.run_store import Record, RunParts, RunStore
from trainer_infra.errors import NotAvailable, Problem
from trainer_infra.json_values import JSONObject
from trainer_infra.kube.client import KubeClient
from trainer_infra.kube.refusals import Answer, NotFound, NotServed
from trainer_infra.kube.resource import CLUSTER_TRAINING_RUNTIME, TRAIN_JOB, TRAINING_RUNTIME
from trainer_infra.runs.run import Owner, Run, Submission, is_fixed
from trainer_infra.runs.view import Observation


class JobStore(RunStore):
    """TrainJobs that own their JobSets."""

    kind = TRAIN_JOB
    # The controller gives a JobSet no label of its TrainJob's.
    jobsets = ""
    change = rights.CHANGE_TRAIN_JOB
    objects_at = record_fields.in_annotations(names.OBJECTS_ANNOTATION)
    status_at = record_fields.in_annotations(names.STATUS_ANNOTATION)
    holder_first = False

    @override
    def object_name(self, job: str) -> str:
        return job

    @override
    def parts(self, submission: Submission) -> RunParts:
        name = submission.key.name
        objects = written_objects(submission.objects, name)
        jobset = next(
            each
            for each in submission.objects
            if (each["kind"], each["metadata"]["name"]) == (names.JOBSET, name)
        )
        return RunParts(noted_job(submission, objects), objects[:-1], jobset)

    @override
    def problems(
        self, job: JSONObject, objects: Sequence[JSONObject], controller: str
    ) -> tuple[Problem, ...]:
        return unsupported_fields.of_engine_controller(job, objects, controller)

    @override
    async def require(self, client: KubeClient, submission: Submission) -> None:
        """Raise where the cluster has no TrainJobs, or not the runtime."""
        job = submission.job
        if not await live_objects.served_kind(client, names.API_VERSION, names.TRAIN_JOB):
            raise NotAvailable(served_kinds.without_train_jobs(client.server))
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
    ) -> Observation:
        if jobset is None or not live_objects.is_of(jobset, record.holder):
            return Observation(None, pods=tuple(pods) if jobset is None else ())
        return Observation(observed_run.queued_jobset(record.value, jobset), pods=tuple(pods))

    @override
    def current_run(self, record: Record, seen: Observation, host: str, now: datetime) -> Run:
        return observed_run.current_run(record, seen, host, now)

    @override
    def owner_patch(self, record: Record, owner: Owner) -> JSONObject:
        marks = run_labels.labels_of(owner, record.name)
        objects = [run_labels.with_labels(each, marks) for each in record.objects]
        return _whole(
            record, objects[-1], {**record_fields.owner_notes(owner), **_objects_note(objects)}
        )

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


def written_objects(objects: Iterable[JSONObject], job: str) -> tuple[JSONObject, ...]:
    """Those of a run's objects that we store, the TrainJob last."""
    found = [each for each in objects if is_written(each, job)]
    return tuple(sorted(found, key=lambda each: each["kind"] == names.TRAIN_JOB))


def noted_job(submission: Submission, objects: Sequence[JSONObject]) -> JSONObject:
    """The TrainJob of a run as it is created, with notes on what we store of it, the TrainJob last."""
    notes = {
        **record_fields.owner_notes(submission.owner),
        **_objects_note(objects),
        names.FORMAT_ANNOTATION: str(record_fields.FORMAT),
        names.CONTENT_ANNOTATION: submission.content,
    }
    return _with_notes(objects[-1], notes, submission.key.namespace)


def _with_notes(job: JSONObject, notes: JSONObject, namespace: str) -> JSONObject:
    metadata = job["metadata"]
    both = {**(metadata.get("annotations") or {}), **notes}
    return {**job, "metadata": {**metadata, "namespace": namespace, "annotations": both}}


_NOTES: Final = (
    names.OWNER_ANNOTATION,
    names.BACKEND_ANNOTATION,
    names.OBJECTS_ANNOTATION,
    names.FORMAT_ANNOTATION,
    names.CONTENT_ANNOTATION,
    names.UID_ANNOTATION,
)
"""Annotations that we write whole, besides how a run ended."""


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


def _objects_note(objects: Sequence[JSONObject]) -> JSONObject:
    return {names.OBJECTS_ANNOTATION: record_fields.objects_text(objects)}


JOBS: Final = JobStore()
