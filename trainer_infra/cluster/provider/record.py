"""The run record: the runtime snapshot's ConfigMap, which keeps what is known of a run. Pure.

`config_map` makes it, `read_record` reads it, `status` is the patch of what is last known. It is
created before everything else of a run and owns it, so its UID is the run's. Besides `runtime` it
has the TrainJob, the objects as they were applied, without code and without values of Secrets, and
the last known status; whose it is stands in labels and, whole, in annotations, beside the format
that all of it is in. What another release wrote is read as far as it is known here, and kept whole
when it is written again. Design "Targets and engines".
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from trainer_infra import names
from trainer_infra.cluster import record_fields, run_labels
from trainer_infra.cluster.run_record import Record
from trainer_infra.errors import Bug, Unreadable
from trainer_infra.json_values import JSONObject
from trainer_infra.runs.run import Owner, Run, Submission, is_fixed, run_to_json

FORMAT: Final = 2
"""Of the records that this release writes; the first one had no backend and no format."""

STATUS: Final = f"data.{names.RECORD_STATUS_KEY}"
"""What a sentence calls the status."""


def name_of(job: str) -> str:
    """The record's name, of a TrainJob's."""
    return f"{job}{names.SNAPSHOT_SUFFIX}"


def config_map(submission: Submission, objects: Sequence[JSONObject]) -> JSONObject:
    """The record of a run before anything else is written.

    Args:
        submission: what to run.
        objects: its objects as this engine renders them; the runtime snapshot among them becomes the record.
    """
    wanted = name_of(submission.job["metadata"]["name"])
    snapshot = next(each for each in objects if each["metadata"]["name"] == wanted)
    others = tuple(each for each in objects if each is not snapshot)
    data = {
        **snapshot["data"],
        names.RECORD_JOB_KEY: _text(submission.job),
        names.RECORD_OBJECTS_KEY: _text([_without_code(each) for each in others]),
    }
    notes = {
        **_owner_notes(submission.owner),
        names.FORMAT_ANNOTATION: str(FORMAT),
        names.CONTENT_ANNOTATION: submission.content,
        names.PLUGINS_ANNOTATION: ",".join(submission.plugins),
    }
    namespace = submission.job["metadata"]["namespace"]
    metadata = {**snapshot["metadata"], "namespace": namespace, "annotations": notes}
    return {**snapshot, "metadata": metadata, "data": data}


def read_record(value: JSONObject) -> Record | None:
    """The record in a ConfigMap; None when that is another owner's.

    Raises:
        Unreadable: It is labelled as a record, or looks like one, and cannot be read.
    """
    metadata, data = value["metadata"], value.get("data") or {}
    notes = metadata.get("annotations") or {}
    marked = names.RECORD_LABEL in (metadata.get("labels") or {})
    if not marked and (names.RECORD_JOB_KEY not in data or names.OWNER_ANNOTATION not in notes):
        return None
    try:
        return _read(value, notes, data)
    except ValueError as error:
        raise unreadable_record(value, str(error)) from None


def unreadable_record(value: JSONObject, why: str) -> Unreadable:
    """The error of a record that cannot be read."""
    metadata = value["metadata"]
    return Unreadable(
        f"ConfigMap {metadata['namespace']}/{metadata['name']} should be the record of a run and "
        f"cannot be read: {why}; write it again as it was, or delete it, and with it what is left "
        "of the run"
    )


def _read(value: JSONObject, notes: JSONObject, data: JSONObject) -> Record:
    metadata = value["metadata"]
    record_fields.read_version(notes)
    job = record_fields.read_job(data, metadata["name"])
    owner, status = (
        record_fields.read_owner(notes),
        record_fields.read_status(data, names.RECORD_STATUS_KEY, STATUS),
    )
    identity = {
        "namespace": metadata["namespace"],
        "name": job["metadata"]["name"],
        "uid": metadata["uid"],
        "owner": owner,
        "content": notes.get(names.CONTENT_ANNOTATION, ""),
        "created": metadata["creationTimestamp"],
    }
    return Record(
        **identity,
        value=value,
        job=job,
        objects=record_fields.read_objects(
            data, names.RECORD_OBJECTS_KEY, f"data.{names.RECORD_OBJECTS_KEY}"
        ),
        plugins=tuple(filter(None, notes.get(names.PLUGINS_ANNOTATION, "").split(","))),
        status=status,
        final=record_fields.read_final(status, identity, STATUS),
    )


def may_be_of(value: JSONObject, owner: Owner) -> bool:
    """Whether a record that cannot be read is that owner's, as far as it still says whose it is."""
    metadata = value["metadata"]
    try:
        return record_fields.read_owner(metadata.get("annotations") or {}).is_same(owner)
    except ValueError:
        found = metadata.get("labels") or {}
        expected = {**run_labels.labels_of(owner, ""), names.RUN_LABEL: found.get(names.RUN_LABEL)}
        return all(found.get(key, each) == each for key, each in expected.items())


def known_record(value: JSONObject) -> Record:
    """The record in a ConfigMap that is known to be one.

    Raises:
        Bug: It is none.
    """
    found = read_record(value)
    if found is None:
        raise Bug(f"ConfigMap {value['metadata']['name']} is not a run record")
    return found


def rewrite_patch(record: Record, wanted: JSONObject) -> JSONObject:
    """The patch that makes a record what `config_map` wanted; what is known of the run stays."""
    return _whole(record, wanted["metadata"]["annotations"], wanted["data"], wanted)


def owner_patch(record: Record, owner: Owner, marks: Mapping[str, str]) -> JSONObject:
    """The patch that gives a record, and what it keeps of its objects, a new owner."""
    objects = [run_labels.with_labels(each, marks) for each in record.objects]
    marked = {**marks, names.RECORD_LABEL: "true"}
    head = {"metadata": {"labels": marked}}
    return _whole(record, _owner_notes(owner), {names.RECORD_OBJECTS_KEY: _text(objects)}, head)


def _whole(record: Record, notes: JSONObject, data: JSONObject, rest: JSONObject) -> JSONObject:
    """The patch of everything but the status: the API server removes what a later patch leaves out.

    What a later release wrote stays, with the format that it says; annotations of others are theirs.
    """
    before = record.value["metadata"]["annotations"]
    kept = {key: each for key, each in before.items() if key.startswith(names.OWN_PREFIX)}
    newest = max(FORMAT, record_fields.read_version(before))
    both = {**kept, **notes, names.FORMAT_ANNOTATION: str(newest)}
    old = {
        key: each for key, each in record.value["data"].items() if key != names.RECORD_STATUS_KEY
    }
    patch = _patch(record)
    metadata = {**rest["metadata"], **patch["metadata"], "annotations": both}
    return {**rest, **patch, "metadata": metadata, "data": {**old, **data}}


def submitted_patch(record: Record, jobset_uid: str) -> JSONObject:
    """The patch that says that everything was submitted: a missing JobSet is a loss from then on."""
    known = {**record.status, "phase": record.status.get("phase", ""), "jobset": jobset_uid}
    return _status(record, known)


def restart_patch(record: Record, jobset_uid: str) -> JSONObject:
    """The patch that forgets how a run ended: it runs again, as another JobSet."""
    return _status(record, {"phase": "", "jobset": jobset_uid})


def end_patch(record: Record, run: Run) -> JSONObject:
    """The patch that keeps a run as it ended."""
    return _status(record, {**record.status, **run_to_json(run), "jobset": record.jobset_uid})


def suspend_patch(record: Record, value: bool) -> JSONObject:
    """The patch that keeps whether the user wants the run suspended."""
    spec = {**record.job["spec"], "suspend": value}
    data = {names.RECORD_JOB_KEY: _text({**record.job, "spec": spec})}
    return {**_patch(record), "data": data}


def _status(record: Record, known: JSONObject) -> JSONObject:
    return {**_patch(record), "data": {names.RECORD_STATUS_KEY: _text(known)}}


def _patch(record: Record) -> dict[str, Any]:
    """A patch of this very record, never of another one of its name."""
    metadata = {
        "name": name_of(record.name),
        "namespace": record.namespace,
        "uid": record.uid,
    }
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


def _owner_notes(owner: Owner) -> Mapping[str, str]:
    """Annotations with the owner.

    The backend is apart: an earlier release breaks on a field that it does not know.
    """
    said = asdict(owner)
    backend = said.pop("backend")
    return {names.OWNER_ANNOTATION: _text(said), names.BACKEND_ANNOTATION: backend}


def _without_code(value: JSONObject) -> JSONObject:
    """The object without what is large and cannot change: an immutable ConfigMap's data."""
    if not is_fixed(value):
        return value
    return {key: each for key, each in value.items() if key not in {"data", "binaryData"}}


def _text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))
