"""What is known of a run, on its TrainJob: labels, and annotations of ours. Pure.

The TrainJob is the run: its UID is the run's, and it owns what else we store. Annotations say whose
it is, what was applied (without code and without values of Secrets) and, at the end, how it ended. A
run that was run again has another TrainJob; the UID of the first one stays the run's.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final

from trainer_infra import names
from trainer_infra.cluster import record_fields, run_labels
from trainer_infra.cluster.run_record import Record
from trainer_infra.errors import Bug, Unreadable
from trainer_infra.json_values import JSONObject
from trainer_infra.runs.run import Owner, Run, Submission, is_fixed, run_to_json

FORMAT: Final = 2
"""Of the annotations that this release writes; that of the records of engine `provider`."""
_LARGE: Final = ("data", "binaryData")


def noted_job(submission: Submission, objects: Sequence[JSONObject]) -> JSONObject:
    """The TrainJob of a run as it is created.

    Args:
        submission: what to run.
        objects: what we store of it, the TrainJob last.
    """
    job = objects[-1]
    notes = {
        **_owner_notes(submission.owner),
        **_objects_note(objects),
        names.FORMAT_ANNOTATION: str(FORMAT),
        names.CONTENT_ANNOTATION: submission.content,
    }
    return with_notes(job, notes, submission.job["metadata"]["namespace"])


def with_notes(job: JSONObject, notes: JSONObject, namespace: str) -> JSONObject:
    """A TrainJob with annotations besides its own, in a namespace."""
    metadata = job["metadata"]
    both = {**(metadata.get("annotations") or {}), **notes}
    return {**job, "metadata": {**metadata, "namespace": namespace, "annotations": both}}


def uid_of(value: JSONObject) -> str:
    """The UID of the run that a TrainJob is."""
    metadata = value["metadata"]
    first = (metadata.get("annotations") or {}).get(names.UID_ANNOTATION)
    return str(first or metadata["uid"])


def read_record(value: JSONObject) -> Record | None:
    """The run that a TrainJob is; None for one that we did not make.

    Raises:
        Unreadable: It is labelled as one of ours, and its annotations cannot be read.
    """
    metadata = value["metadata"]
    notes = metadata.get("annotations") or {}
    if names.RECORD_LABEL not in (metadata.get("labels") or {}):
        return None
    try:
        return _read(value, notes)
    except ValueError as error:
        raise Unreadable(
            f"TrainJob {metadata['namespace']}/{metadata['name']} should be a run of ours and cannot "
            f"be read: {error}; write it again as it was, or delete it"
        ) from None


def known_record(value: JSONObject) -> Record:
    """The run that a TrainJob is, which is known to be one.

    Raises:
        Bug: It is none.
    """
    found = read_record(value)
    if found is None:
        raise Bug(f"TrainJob {value['metadata']['name']} is no run of ours")
    return found


def may_be_of(value: JSONObject, owner: Owner) -> bool:
    """Whether a TrainJob that cannot be read is that owner's, as far as it still says whose it is."""
    metadata = value["metadata"]
    try:
        return record_fields.read_owner(metadata.get("annotations") or {}).is_same(owner)
    except ValueError:
        found = metadata.get("labels") or {}
        expected = run_labels.labels_of(owner, metadata["name"])
        return all(found.get(key, each) == each for key, each in expected.items())


def _read(value: JSONObject, notes: JSONObject) -> Record:
    metadata = value["metadata"]
    record_fields.read_version(notes)
    identity = {
        "namespace": metadata["namespace"],
        "name": metadata["name"],
        "uid": uid_of(value),
        "owner": record_fields.read_owner(notes),
        "content": notes.get(names.CONTENT_ANNOTATION, ""),
        "created": metadata["creationTimestamp"],
    }
    objects = record_fields.read_objects(
        notes, names.OBJECTS_ANNOTATION, _place(names.OBJECTS_ANNOTATION)
    )
    job = objects[-1] if objects else None
    if job is None or (job["kind"], job["metadata"]["name"]) != (
        names.TRAIN_JOB,
        metadata["name"],
    ):
        raise ValueError(f"{_place(names.OBJECTS_ANNOTATION)}: has not this TrainJob at its end")
    status = record_fields.read_status(
        notes, names.STATUS_ANNOTATION, _place(names.STATUS_ANNOTATION)
    )
    suspend = bool((value.get("spec") or {}).get("suspend"))
    return Record(
        **identity,
        value=value,
        job={**job, "spec": {**(job.get("spec") or {}), "suspend": suspend}},
        objects=objects,
        plugins=(),
        status=status,
        final=record_fields.read_final(status, identity, _place(names.STATUS_ANNOTATION)),
    )


def end_patch(record: Record, run: Run) -> JSONObject:
    """The patch that keeps a run as it ended."""
    note = {names.STATUS_ANNOTATION: _text(run_to_json(run))}
    return {**_head(record), "metadata": {**_named(record), "annotations": note}}


def suspend_patch(record: Record, value: bool) -> JSONObject:
    """The patch that suspends or resumes a run."""
    return {**_head(record), "metadata": _named(record), "spec": {"suspend": value}}


def whole_patch(record: Record, owner: Owner | None = None) -> JSONObject:
    """The patch that writes every field of ours again, for the same owner or another one.

    All but `spec.suspend`, which is the user's or Kueue's: what a later patch leaves out is removed,
    so that none may have it.
    """
    objects = record.objects
    before = record.value["metadata"].get("annotations") or {}
    known = {*_NOTES, names.BACKEND_ANNOTATION}
    notes = {key: before[key] for key in known if key in before}
    if owner is not None:
        marks = run_labels.labels_of(owner, record.name)
        objects = tuple(run_labels.with_labels(each, marks) for each in objects)
        notes |= {**_owner_notes(owner), **_objects_note(objects)}
    job = with_notes(objects[-1], notes, record.namespace)
    spec = {key: each for key, each in job["spec"].items() if key != "suspend"}
    return {**job, "metadata": {**job["metadata"], "uid": record.holder}, "spec": spec}


def repeated_job(record: Record) -> JSONObject:
    """The TrainJob of a run that runs again, as it is created: suspended as the user has it now."""
    whole = whole_patch(record)
    metadata = {key: each for key, each in whole["metadata"].items() if key != "uid"}
    notes = {**metadata["annotations"], names.UID_ANNOTATION: record.uid}
    spec = dict(whole["spec"])
    if "suspend" in record.objects[-1]["spec"]:
        spec["suspend"] = record.job["spec"]["suspend"]
    return {**whole, "metadata": {**metadata, "annotations": notes}, "spec": spec}


_NOTES: Final = (
    names.OWNER_ANNOTATION,
    names.OBJECTS_ANNOTATION,
    names.FORMAT_ANNOTATION,
    names.CONTENT_ANNOTATION,
    names.UID_ANNOTATION,
)
"""Annotations that we write whole, besides the backend and how a run ended."""


def _objects_note(objects: Sequence[JSONObject]) -> dict[str, str]:
    return {names.OBJECTS_ANNOTATION: _text([_without_code(each) for each in objects])}


def _owner_notes(owner: Owner) -> dict[str, str]:
    said = asdict(owner)
    backend = said.pop("backend")
    return {names.OWNER_ANNOTATION: _text(said), names.BACKEND_ANNOTATION: backend}


def _without_code(value: JSONObject) -> JSONObject:
    if not is_fixed(value):
        return value
    return {key: each for key, each in value.items() if key not in _LARGE}


def _head(record: Record) -> JSONObject:
    return {key: record.value[key] for key in ("apiVersion", "kind")}


def _named(record: Record) -> dict[str, Any]:
    return {"name": record.name, "namespace": record.namespace, "uid": record.holder}


def _place(annotation: str) -> str:
    return f"metadata.annotations[{annotation}]"


def _text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))
