"""The fields of a run record, written, and read one by one with what is wrong in them. Pure.

Texts in the data of a ConfigMap, or in annotations of a TrainJob. A user who may write these objects may
write the texts, and another release may have: what is unknown here is left as it is, what is missing has
a default, and what cannot be is a ValueError that names the place, before anything goes on with it.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Final, TypeVar

from trainer_infra import names
from trainer_infra.errors import shown
from trainer_infra.json_values import JSONObject
from trainer_infra.runs.run import FINISHED, Owner, Run, is_fixed, owner_from_json, run_from_json

T = TypeVar("T")

FIRST: Final = 1
"""Format of records that say none."""
FORMAT: Final = 2
"""Of the records that this release writes; the first one had no backend and no format."""
_CONDITION: Final = ("type", "status", "reason", "message")


@dataclass(frozen=True, slots=True)
class TextPlace:
    """Where a text of a record stands in the object that keeps the run."""

    path: tuple[str, ...]
    """Of the mapping that it is in."""
    key: str

    @property
    def shown(self) -> str:
        """What a sentence calls it."""
        where = ".".join(self.path)
        return f"{where}.{self.key}" if self.path == ("data",) else f"{where}[{self.key}]"

    def texts(self, value: JSONObject) -> JSONObject:
        """The mapping that it is in."""
        for each in self.path:
            value = value.get(each) or {}
        return value


def in_data(key: str) -> TextPlace:
    """A key of a ConfigMap."""
    return TextPlace(("data",), key)


def in_annotations(key: str) -> TextPlace:
    """An annotation."""
    return TextPlace(("metadata", "annotations"), key)


def compact_text(value: Any) -> str:
    """A JSON value as a record has it."""
    return json.dumps(value, separators=(",", ":"))


def owner_notes(owner: Owner) -> dict[str, str]:
    """Annotations with the owner.

    The backend is apart: an earlier release breaks on a field that it does not know.
    """
    said = asdict(owner)
    backend = said.pop("backend")
    return {names.OWNER_ANNOTATION: compact_text(said), names.BACKEND_ANNOTATION: backend}


def objects_text(objects: Iterable[JSONObject]) -> str:
    """Objects as they were applied, without what is large and cannot change: an immutable ConfigMap's data."""
    content = {"data", "binaryData"}
    return compact_text(
        [
            {key: each for key, each in value.items() if not (is_fixed(value) and key in content)}
            for value in objects
        ]
    )


def read_version(notes: JSONObject) -> int:
    """The format in which the record was written."""
    text = str(notes.get(names.FORMAT_ANNOTATION, FIRST))
    if not text.isdecimal():
        raise _wrong(in_annotations(names.FORMAT_ANNOTATION).shown, "is not a number", text)
    return int(text)


def read_owner(notes: JSONObject) -> Owner:
    """Who declared the run."""
    where = in_annotations(names.OWNER_ANNOTATION).shown
    found = _mapping(_json(notes, names.OWNER_ANNOTATION, where), where)
    return _read(
        where, owner_from_json, {**found, "backend": notes.get(names.BACKEND_ANNOTATION, "")}
    )


def read_job(value: JSONObject, place: TextPlace) -> JSONObject:
    """The TrainJob in a ConfigMap, to whose name the TrainJob's must lead."""
    where = place.shown
    found = _mapping(_json(place.texts(value), place.key, where), where)
    metadata = _mapping(found.get("metadata"), f"{where}: metadata")
    name = metadata.get("name")
    if f"{name}{names.SNAPSHOT_SUFFIX}" != value["metadata"]["name"]:
        raise _wrong(f"{where}: metadata.name", "is not that of this record", name)
    for key in ("labels", "annotations"):
        _mapping(metadata.get(key) or {}, f"{where}: metadata.{key}")
    _mapping(found.get("spec"), f"{where}: spec")
    return found


def read_objects(value: JSONObject, place: TextPlace) -> tuple[JSONObject, ...]:
    """What was applied, by the object that keeps the run; nothing where that says nothing."""
    texts, where = place.texts(value), place.shown
    found = _list(_json(texts, place.key, where) if texts.get(place.key) else [], where)
    return tuple(_object(each, f"{where}[{index}]") for index, each in enumerate(found))


def read_status(value: JSONObject, place: TextPlace) -> JSONObject:
    """What was last known; empty as long as not everything was submitted. See `read_objects`."""
    texts, where = place.texts(value), place.shown
    found = _mapping(_json(texts, place.key, where) if texts.get(place.key) else {}, where)
    for each in ("phase", "jobset"):
        _text(found.get(each, ""), f"{where}: {each}")
    return found


def read_final(known: JSONObject, identity: JSONObject, where: str) -> Run | None:
    """The run as it ended, by the record's status; None before that was seen.

    What the record itself says of the run, its identity, counts.
    """
    if known.get("phase") not in FINISHED:
        return None
    run = _read(where, run_from_json, {**known, **identity})
    for key in ("started", "finished"):
        _time(getattr(run, key), f"{where}: {key}")
    _job_status(run.status, f"{where}: status")
    return run


def _object(value: Any, where: str) -> JSONObject:
    found = _mapping(value, where)
    for key in ("apiVersion", "kind"):
        _text(found.get(key), f"{where}: {key}")
    metadata = _mapping(found.get("metadata"), f"{where}: metadata")
    _text(metadata.get("name"), f"{where}: metadata.name")
    for key in ("labels", "annotations"):
        _mapping(metadata.get(key) or {}, f"{where}: metadata.{key}")
    for key in ("spec", "data", "stringData"):
        _mapping(found.get(key) or {}, f"{where}: {key}")
    return found


def _job_status(value: JSONObject, where: str) -> None:
    """Raise unless TrainJob.status has the shape that people are shown."""
    for index, each in enumerate(_list(value.get("conditions") or [], f"{where}.conditions")):
        place = f"{where}.conditions[{index}]"
        condition = _mapping(each, place)
        for key in _CONDITION:
            _text(condition.get(key), f"{place}.{key}")
        _time(condition.get("lastTransitionTime") or "", f"{place}.lastTransitionTime")
    for index, each in enumerate(_list(value.get("jobsStatus") or [], f"{where}.jobsStatus")):
        place = f"{where}.jobsStatus[{index}]"
        _text(_mapping(each, place).get("name"), f"{place}.name")
    report = _mapping(value.get("trainerStatus") or {}, f"{where}.trainerStatus")
    for index, each in enumerate(_list(report.get("metrics") or [], f"{where}.metrics")):
        metric = _mapping(each, f"{where}.metrics[{index}]")
        for key in ("name", "value"):
            _text(metric.get(key), f"{where}.metrics[{index}].{key}")


def _json(values: JSONObject, key: str, where: str) -> Any:
    if key not in values:
        raise ValueError(f"{where}: is missing")
    try:
        return json.loads(_text(values[key], where))
    except (ValueError, RecursionError):
        raise _wrong(where, "is not JSON", values[key]) from None


def _read(where: str, read: Callable[[JSONObject], T], value: JSONObject) -> T:
    try:
        return read(value)
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None


def _mapping(value: Any, where: str) -> JSONObject:
    if not isinstance(value, Mapping):
        raise _wrong(where, "is not an object", value)
    return value


def _list(value: Any, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise _wrong(where, "is not a list", value)
    return value


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise _wrong(where, "is not text", value)
    return value


def _time(value: Any, where: str) -> None:
    try:
        _ = datetime.fromisoformat(_text(value, where)) if value else None
    except ValueError:
        raise _wrong(where, "is not a time", value) from None


def _wrong(where: str, what: str, got: object) -> ValueError:
    return ValueError(f"{where}: {what}, got {shown(got)}")
