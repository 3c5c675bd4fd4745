"""Server-side apply: what an object becomes, and who owns which of its fields. Pure.

The rule is Kubernetes' own (documentation of server-side apply): an applied field is set and owned;
one that is applied no more goes, unless others own it; one that others own with another value is a
conflict, or theirs no more where it is forced.
"""

import base64
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from tests.fake_api_server import field_set, schema_shape
from tests.fake_api_server.field_set import Field, FieldSet
from trainer_infra.kube import refusals

JSON = Mapping[str, Any]

STATUS: Final = "status"
"""The subresource."""
_METADATA: Final = ("f:metadata",)
_HEAD: Final = ("apiVersion", "kind")
_SERVERS: Final = (
    "name",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "managedFields",
    "selfLink",
)
"""Fields of metadata that nobody owns."""


@dataclass(frozen=True, slots=True)
class Writer:
    """Who writes, and how."""

    manager: str
    operation: str = "Apply"
    """`Apply`, or `Update` for what a create sets."""
    subresource: str = ""
    """`status`, or empty for the object."""
    force: bool = False
    """Whether others lose the fields that they have with other values."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of `managedFields`."""

    manager: str
    operation: str
    subresource: str
    api_version: str
    time: str
    fields: FieldSet

    def is_of(self, writer: Writer) -> bool:
        """Whether it is the writer's own."""
        mine = (writer.manager, writer.operation, writer.subresource)
        return (self.manager, self.operation, self.subresource) == mine

    def written(self) -> dict[str, Any]:
        """As `managedFields` has it."""
        return {
            "manager": self.manager,
            "operation": self.operation,
            "apiVersion": self.api_version,
            "time": self.time,
            "fieldsType": "FieldsV1",
            "fieldsV1": field_set.written(self.fields),
            **({"subresource": self.subresource} if self.subresource else {}),
        }


def entries(value: JSON) -> tuple[Entry, ...]:
    """Who owns what of an object."""
    return tuple(
        Entry(
            each["manager"],
            each["operation"],
            each.get("subresource", ""),
            each["apiVersion"],
            each["time"],
            field_set.parsed(each["fieldsV1"]),
        )
        for each in value["metadata"].get("managedFields") or ()
    )


def own(value: JSON, subresource: str, has_status: bool) -> dict[str, Any]:
    """What of a value counts: neither the server's own fields nor what the endpoint ignores."""
    if subresource:
        return {STATUS: value[STATUS]} if STATUS in value else {}
    value = _coded(value)
    ignored = (*_HEAD, "metadata", *((STATUS,) if has_status else ()))
    metadata = {key: item for key, item in value["metadata"].items() if key not in _SERVERS}
    rest = {key: item for key, item in value.items() if key not in ignored}
    return {**rest, **({"metadata": metadata} if metadata else {})}


def created(value: JSON, set_by: JSON, writer: Writer, now: str) -> dict[str, Any]:
    """A new object, owned by who created it.

    Args:
        value: the object with its server's fields.
        set_by: what of it the writer has set (`own`).
        writer: who.
        now: RFC 3339 time.
    """
    schema = schema_shape.of(value["apiVersion"], value["kind"])
    mine = _entry(value, writer, now, field_set.of(set_by, schema))
    return _with_entries(value, (mine,) if mine.fields else ())


def applied(live: JSON, config: JSON, writer: Writer, now: str, asked: str) -> dict[str, Any]:
    """What an object becomes.

    Args:
        live: the object; of one that is new its head and name.
        config: what of the applied value counts (`own`).
        writer: who applies.
        now: RFC 3339 time.
        asked: what was asked, for the message.

    Raises:
        Conflict: Others own a field with another value, and it is not forced.
    """
    schema = schema_shape.of(live["apiVersion"], live["kind"])
    known = entries(live)
    before = next((each for each in known if each.is_of(writer)), None)
    others = [each for each in known if not each.is_of(writer)]
    wanted = field_set.of(config, schema) if config else frozenset()
    merged = field_set.merged(live, config, schema)
    changed = frozenset(
        path
        for path in wanted
        if field_set.at(live, path, schema) != field_set.at(merged, path, schema)
    )
    if not writer.force:
        _refuse(others, changed, asked)
    kept = [replace(each, fields=each.fields - changed) for each in others]
    dropped = before.fields - wanted if before else frozenset()
    gone = _ours_alone(dropped, (wanted, *(each.fields for each in kept)))
    left = field_set.without(merged, gone, schema)
    mine = _entry(live, writer, now, wanted)
    if before and before.fields == wanted and not changed:
        mine = before
    return _with_entries(left, [each for each in (mine, *kept) if each.fields])


def updated(live: JSON, new: JSON, writer: Writer, now: str) -> dict[str, Any]:
    """An object after a write that is not an apply: who changes a field owns it alone.

    Args:
        live: the object before.
        new: after.
        writer: who writes.
        now: RFC 3339 time.
    """
    schema = schema_shape.of(live["apiVersion"], live["kind"])
    there = field_set.of(own(new, writer.subresource, True), schema)
    changed = frozenset(
        path
        for path in there
        if field_set.at(live, path, schema) != field_set.at(new, path, schema)
    )
    known = entries(live)
    before = next((each for each in known if each.is_of(writer)), None)
    mine = (changed | (before.fields if before else frozenset())) & there
    kept = (
        replace(each, fields=_left(each, changed, there, writer.subresource))
        for each in known
        if each is not before
    )
    found = (_entry(live, writer, now, mine) if changed or before is None else before, *kept)
    return _with_entries(new, [each for each in found if each.fields])


def _left(entry: Entry, changed: FieldSet, there: FieldSet, subresource: str) -> FieldSet:
    """What another manager still owns."""
    same = entry.subresource == subresource
    return (entry.fields - changed) & there if same else entry.fields


def _entry(value: JSON, writer: Writer, now: str, fields: FieldSet) -> Entry:
    who = (writer.manager, writer.operation, writer.subresource)
    return Entry(*who, value["apiVersion"], now, fields)


def _with_entries(value: JSON, found: Iterable[Entry]) -> dict[str, Any]:
    ordered = sorted(found, key=lambda each: (each.operation, each.time, each.manager))
    return {
        **value,
        "metadata": {**value["metadata"], "managedFields": [each.written() for each in ordered]},
    }


def _ours_alone(dropped: FieldSet, kept: Iterable[FieldSet]) -> FieldSet:
    """What goes with the fields applied no more: they, and all that is in nothing but them.

    So a default goes with the object that it was added to.
    """
    owned = frozenset[Field]().union(*kept)
    inside = {path[:end] for path in owned for end in range(len(path) + 1)}
    above = {path[:end] for path in dropped for end in range(1, len(path) + 1)}
    return frozenset(above - inside - {_METADATA})


def _refuse(others: Iterable[Entry], changed: FieldSet, asked: str) -> None:
    causes = [
        {"reason": "FieldManagerConflict", "message": f"conflict with {who}", "field": text}
        for who, text in _conflicts(others, changed)
    ]
    if not causes:
        return
    listed = ", ".join(f"{each['message']}: {each['field']}" for each in causes)
    count = f"{len(causes)} conflict{'s' if len(causes) > 1 else ''}"
    said = {
        "reason": "Conflict",
        "message": f"Apply failed with {count}: {listed}",
        "details": {"causes": causes},
    }
    raise refusals.of_status(409, said, asked)


def _conflicts(others: Iterable[Entry], changed: FieldSet) -> Iterator[tuple[str, str]]:
    for each in others:
        using = f" using {each.api_version}" if each.operation != "Apply" else ""
        below = f' with subresource "{each.subresource}"' if each.subresource else ""
        for path in sorted(each.fields & changed):
            yield f'"{each.manager}"{below}{using}', _text(path)


def _text(path: Field) -> str:
    parts = (f".{part[2:]}" if part[:2] == "f:" else f"[{part[2:]}]" for part in path)
    return "".join(parts)


def _coded(value: JSON) -> JSON:
    """A Secret with its `stringData` where the server puts it."""
    if value["kind"] != "Secret" or "stringData" not in value:
        return value
    data = {
        key: base64.b64encode(text.encode()).decode() for key, text in value["stringData"].items()
    }
    rest = {key: item for key, item in value.items() if key != "stringData"}
    return {**rest, "data": {**(value.get("data") or {}), **data}}
