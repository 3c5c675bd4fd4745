"""The runs of engine `provider`: the runtime snapshot's ConfigMap keeps what is known of a run. Pure.

It is created before everything else of a run and owns it, so its UID is the run's. Besides `runtime` it
has the TrainJob, the objects as they were applied, without code and without values of Secrets, and
the last known status; whose it is stands in labels and, whole, in annotations, beside the format
that all of it is in. What another release wrote is read as far as it is known here, and kept whole
when it is written again. Design "Targets and engines".
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from typing_extensions import override

from trainer_infra import names
from trainer_infra.cluster import decided_status, record_fields, run_labels, unsupported_fields
from trainer_infra.cluster.run_store import Record, RunParts, RunStore
from trainer_infra.errors import Problem, Unreadable
from trainer_infra.json_values import JSONObject
from trainer_infra.kube.resource import CONFIG_MAP
from trainer_infra.lifecycle.status import Delegation
from trainer_infra.runs import reports, view
from trainer_infra.runs.causes import kueue_workload
from trainer_infra.runs.run import LOST, Owner, Run, Submission
from trainer_infra.runs.waiting_cause import Cause

JOB: Final = record_fields.in_data(names.RECORD_JOB_KEY)
"""Where the TrainJob stands."""
GONE: Final = "its JobSet was deleted before it ended; raise attempt to run it again"
UNFINISHED_SUBMIT: Final = "its submit, which did not end yet or was interrupted"


class RecordStore(RunStore):
    """Records in ConfigMaps, which own the JobSets."""

    kind = CONFIG_MAP
    jobsets = names.RUN_LABEL
    objects_at = record_fields.in_data(names.RECORD_OBJECTS_KEY)
    status_at = record_fields.in_data(names.RECORD_STATUS_KEY)
    holder_first = True

    @override
    def object_name(self, job: str) -> str:
        return f"{job}{names.SNAPSHOT_SUFFIX}"

    @override
    def parts(self, submission: Submission) -> RunParts:
        key = submission.key
        snapshot = next(each for each in submission.objects if run_labels.is_record(each, key.name))
        others = [each for each in submission.objects if each is not snapshot]
        data = {
            **snapshot["data"],
            names.RECORD_JOB_KEY: record_fields.compact_text(submission.job),
            names.RECORD_OBJECTS_KEY: record_fields.objects_text(others),
        }
        notes = {
            **record_fields.owner_notes(submission.owner),
            names.FORMAT_ANNOTATION: str(record_fields.FORMAT),
            names.CONTENT_ANNOTATION: submission.content,
            names.PLUGINS_ANNOTATION: ",".join(submission.plugins),
        }
        metadata = {**snapshot["metadata"], "namespace": key.namespace, "annotations": notes}
        others.sort(key=lambda each: each["kind"] == names.JOBSET)
        holder = {**snapshot, "metadata": metadata, "data": data}
        return RunParts(holder, tuple(others), others[-1])

    @override
    def problems(
        self, job: JSONObject, objects: Sequence[JSONObject], controller: str
    ) -> tuple[Problem, ...]:
        return unsupported_fields.of_engine_provider(job, objects)

    @override
    def keeps_run(self, value: JSONObject) -> bool:
        notes = value["metadata"].get("annotations") or {}
        looks_like = JOB.key in JOB.texts(value) and names.OWNER_ANNOTATION in notes
        return looks_like or super().keeps_run(value)

    @override
    def job_of(self, value: JSONObject, objects: Sequence[JSONObject]) -> JSONObject:
        return record_fields.read_job(value, JOB)

    @override
    def observation(
        self, record: Record, jobset: JSONObject | None, pods: Sequence[JSONObject]
    ) -> view.Observation:
        is_own = jobset is not None and record.owns(jobset)
        return view.Observation(jobset if is_own else None, pods=tuple(pods))

    @override
    def current_run(self, record: Record, seen: view.Observation, host: str, now: datetime) -> Run:
        # No TrainJob is stored: its status is decided here; the deadline is its Jobs' to keep.
        declared = replace(record.declared(host), drift=seen.drift)
        if seen.jobset is None:
            if record.jobset_uid:
                return replace(declared, phase=LOST, reason=LOST, message=GONE)
            return replace(declared, waiting_for=UNFINISHED_SUBMIT, cause=str(Cause.SUBMIT))
        delegation = Delegation(deadline=True, suspend=kueue_workload.is_resumed(seen.jobset))
        seen = replace(seen, reports=reports.by_pod(seen.pods, seen.lines))
        try:
            decided = decided_status.decided_status(record, seen, delegation, now)
        except Unreadable as error:
            raise self.unreadable(record.value, f"{JOB.shown}: {error}") from None
        return view.current_run(declared, replace(seen, status=decided), now)

    @override
    def agreeing_patch(self, record: Record, holder: JSONObject) -> JSONObject | None:
        if record.value["data"].items() >= holder["data"].items():
            return None
        return _whole(record, holder["metadata"]["annotations"], holder["data"], holder)

    @override
    def owner_patch(self, record: Record, owner: Owner) -> JSONObject:
        marks = run_labels.labels_of(owner, record.name)
        objects = [run_labels.with_labels(each, marks) for each in record.objects]
        head = {"metadata": {"labels": {**marks, names.RECORD_LABEL: "true"}}}
        data = {names.RECORD_OBJECTS_KEY: record_fields.objects_text(objects)}
        return _whole(record, record_fields.owner_notes(owner), data, head)

    @override
    def suspend_patch(self, record: Record, value: bool) -> JSONObject:
        job = {**record.job, "spec": {**record.job["spec"], "suspend": value}}
        return {**record.head(), "data": {JOB.key: record_fields.compact_text(job)}}


def _whole(record: Record, notes: JSONObject, data: JSONObject, rest: JSONObject) -> JSONObject:
    """The patch of everything but the status: the API server removes what a later patch leaves out.

    What a later release wrote stays, with the format that it says; annotations of others are theirs.
    """
    before = record.value["metadata"]["annotations"]
    kept = {key: each for key, each in before.items() if key.startswith(names.OWN_PREFIX)}
    newest = max(record_fields.FORMAT, record_fields.read_version(before))
    both = {**kept, **notes, names.FORMAT_ANNOTATION: str(newest)}
    old = {
        key: each for key, each in record.value["data"].items() if key != names.RECORD_STATUS_KEY
    }
    head = record.head()
    metadata = {**rest["metadata"], **head["metadata"], "annotations": both}
    return {**rest, **head, "metadata": metadata, "data": {**old, **data}}


RECORDS: Final = RecordStore()
