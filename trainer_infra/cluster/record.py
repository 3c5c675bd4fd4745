"""The run record: the runtime snapshot's ConfigMap, which keeps what is known of a run. Pure.

`config_map` makes it, `read` reads it, `status` is the patch of what is last known. It is created
before everything else of a run and owns it, so its UID is the run's. Besides `runtime` it has the
TrainJob, the objects as they were applied, without code and without values of Secrets, and the last
known status; whose it is stands in labels and, whole, in an annotation. DESIGN.md, engine
`provider`.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from trainer_infra import names
from trainer_infra.errors import Bug
from trainer_infra.lifecycle.run import FINISHED, Owner, Run, Submission, run_from_json, run_to_json

JSON = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Record:
    """A run record as it is stored."""

    value: JSON
    """The ConfigMap."""
    namespace: str
    name: str
    """Of the TrainJob."""
    uid: str
    """The run's."""
    owner: Owner
    """Who declared it, or adopted it last."""
    content: str
    """Hash of what was submitted."""
    created: str
    """RFC 3339, UTC."""
    job: JSON
    """The TrainJob in wire form, `spec.suspend` as the user has it now."""
    objects: tuple[JSON, ...]
    """What was applied, as it may be shown, the JobSet last; the record is not among them."""
    plugins: tuple[str, ...]
    """Listed plugins that rendered it."""
    status: JSON
    """What was last known; empty as long as not everything was submitted."""

    @property
    def jobset_uid(self) -> str:
        """UID of the run's JobSet; empty as long as not everything was submitted."""
        return str(self.status.get("jobset") or "")

    @property
    def final(self) -> Run | None:
        """The run as it ended; None before somebody has seen that."""
        if self.status.get("phase") not in FINISHED:
            return None
        known = {key: value for key, value in self.status.items() if key != "jobset"}
        return run_from_json({**known, "owner": asdict(self.owner)})


def name_of(job: str) -> str:
    """The record's name, of a TrainJob's."""
    return f"{job}{names.SNAPSHOT_SUFFIX}"


def config_map(submission: Submission, objects: Sequence[JSON]) -> JSON:
    """The record of a run before anything else is written.

    Args:
        submission: what to run.
        objects: its objects, prepared; the runtime snapshot among them becomes the record.
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
        **_owner_note(submission.owner),
        names.CONTENT_ANNOTATION: submission.content,
        names.PLUGINS_ANNOTATION: ",".join(submission.plugins),
    }
    namespace = submission.job["metadata"]["namespace"]
    metadata = {**snapshot["metadata"], "namespace": namespace, "annotations": notes}
    return {**snapshot, "metadata": metadata, "data": data}


def read(value: JSON) -> Record | None:
    """The record in a ConfigMap; None when that is somebody else's."""
    metadata, data = value["metadata"], value.get("data") or {}
    notes = metadata.get("annotations") or {}
    if names.RECORD_JOB_KEY not in data or names.OWNER_ANNOTATION not in notes:
        return None
    job: JSON = json.loads(data[names.RECORD_JOB_KEY])
    return Record(
        value=value,
        namespace=metadata["namespace"],
        name=job["metadata"]["name"],
        uid=metadata["uid"],
        owner=Owner(**json.loads(notes[names.OWNER_ANNOTATION])),
        content=notes.get(names.CONTENT_ANNOTATION, ""),
        created=metadata["creationTimestamp"],
        job=job,
        objects=tuple(json.loads(data.get(names.RECORD_OBJECTS_KEY) or "[]")),
        plugins=tuple(filter(None, notes.get(names.PLUGINS_ANNOTATION, "").split(","))),
        status=json.loads(data.get(names.RECORD_STATUS_KEY) or "{}"),
    )


def known(value: JSON) -> Record:
    """The record in a ConfigMap that is known to be one.

    Raises:
        Bug: It is none.
    """
    found = read(value)
    if found is None:
        raise Bug(f"ConfigMap {value['metadata']['name']} is no run record")
    return found


def rewritten(record: Record, wanted: JSON) -> JSON:
    """The patch that makes a record what `config_map` wanted; what is known of the run stays."""
    metadata = {**wanted["metadata"], "uid": record.uid}
    return {**wanted, "metadata": metadata}


def adopted(record: Record, owner: Owner, labels: Mapping[str, str]) -> JSON:
    """The patch that gives a record, and what it keeps of its objects, a new owner."""
    patch = _patch(record)
    notes = {**(record.value["metadata"]["annotations"]), **_owner_note(owner)}
    objects = [relabelled(each, labels) for each in record.objects]
    data = {key: record.value["data"][key] for key in (names.SNAPSHOT_KEY, names.RECORD_JOB_KEY)}
    data[names.RECORD_OBJECTS_KEY] = _text(objects)
    marked = {**labels, names.RECORD_LABEL: "true"}
    return {
        **patch,
        "metadata": {**patch["metadata"], "labels": marked, "annotations": notes},
        "data": data,
    }


def relabelled(value: JSON, labels: Mapping[str, str]) -> JSON:
    """An object with other labels of ours."""
    metadata = value["metadata"]
    both = {**(metadata.get("labels") or {}), **labels}
    return {**value, "metadata": {**metadata, "labels": both}}


def submitted(record: Record, jobset_uid: str) -> JSON:
    """The patch that says that everything was submitted: a missing JobSet is a loss from then on."""
    known = {**record.status, "phase": record.status.get("phase", ""), "jobset": jobset_uid}
    return _status(record, known)


def ended(record: Record, run: Run) -> JSON:
    """The patch that keeps a run as it ended."""
    return _status(record, {**run_to_json(run), "jobset": record.jobset_uid})


def suspended(record: Record, value: bool) -> JSON:
    """The patch that keeps whether the user wants the run suspended."""
    spec = {**record.job["spec"], "suspend": value}
    data = {names.RECORD_JOB_KEY: _text({**record.job, "spec": spec})}
    return {**_patch(record), "data": data}


def reference(record: Record) -> JSON:
    """The owner reference that everything of the run has.

    It does not block the owner's deletion, which nothing waits for: some clusters (OpenShift) give
    that to those alone who may update configmaps/finalizers.
    """
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "name": name_of(record.name),
        "uid": record.uid,
        "controller": True,
    }


def _status(record: Record, known: JSON) -> JSON:
    return {**_patch(record), "data": {names.RECORD_STATUS_KEY: _text(known)}}


def _patch(record: Record) -> dict[str, Any]:
    """A patch of this very record, never of another one of its name."""
    metadata = {
        "name": name_of(record.name),
        "namespace": record.namespace,
        "uid": record.uid,
    }
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}


def _owner_note(owner: Owner) -> Mapping[str, str]:
    return {names.OWNER_ANNOTATION: _text(asdict(owner))}


def _without_code(value: JSON) -> JSON:
    """The object without what is large and cannot change: an immutable ConfigMap's data."""
    if value["kind"] != "ConfigMap" or not value.get("immutable"):
        return value
    return {key: each for key, each in value.items() if key not in {"data", "binaryData"}}


def _text(value: Any) -> str:
    return json.dumps(value, separators=(",", ":"))
