"""Fields of ours that another writer changed, found by managed fields. Pure.

Only fields that we applied count; what the server, a webhook, JobSet or Kueue adds is theirs.
`spec.suspend` never counts, and what a Secret holds is never shown. Design rule 4.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from trainer_infra import names
from trainer_infra.errors import shown
from trainer_infra.json_values import JSONObject

OURS: Final = frozenset({names.FIELD_MANAGER, names.SUSPEND_MANAGER, names.STATUS_MANAGER})
"""Managers of our fields."""
GONE: Final = "is gone"
REMOVED: Final = "was removed"
_NOT_COMPARED: Final = ("apiVersion", "kind", "status")
_CONTENT: Final = ("data", "stringData")
_META: Final = ("labels", "annotations")


@dataclass(frozen=True, slots=True)
class _Writer:
    """One manager and the part of its fields that is looked at."""

    name: str
    time: str
    fields: JSONObject


Writers = Sequence[_Writer]


def drifted_fields(applied: JSONObject, live: JSONObject | None) -> Mapping[str, str]:
    """What differs from what the record has, as `<kind> <name>: <path>` to what is there and whose it is."""
    head = f"{applied['kind']} {applied['metadata']['name']}"
    if live is None:
        return {head: GONE}
    writers = [
        _Writer(each.get("manager", "?"), each.get("time", ""), each.get("fieldsV1") or {})
        for each in live["metadata"].get("managedFields") or ()
        if each.get("subresource") in (None, "")
    ]
    return {f"{head}: {path}": found for path, found in _of_object(applied, live, writers)}


def _of_object(
    applied: JSONObject, live: JSONObject, writers: Writers
) -> Iterator[tuple[str, str]]:
    metadata = {key: applied["metadata"][key] for key in _META if key in applied["metadata"]}
    below = _narrowed(writers, "f:metadata")
    yield from _differences(metadata, live["metadata"], "metadata", below)
    for key, value in applied.items():
        if key == "metadata" or key in _NOT_COMPARED:
            continue
        if applied["kind"] == "Secret" and key in _CONTENT:
            yield from _of_secret(value, live, writers)
            continue
        yield from _of_field(
            _compared(key, value), live.get(key), key, _narrowed(writers, f"f:{key}")
        )


def _compared(key: str, value: Any) -> Any:
    """The field without `spec.suspend`, which is the user's or Kueue's."""
    if key != "spec":
        return value
    return {name: each for name, each in value.items() if name != "suspend"}


def _of_secret(keys: JSONObject, live: JSONObject, writers: Writers) -> Iterator[tuple[str, str]]:
    """Keys that are gone or whose value another writer wrote; the value itself is not shown."""
    for key in keys:
        path, now = f"data.{key}", live.get("data") or {}
        owners = _narrowed(_narrowed(writers, "f:data"), f"f:{key}")
        if key not in now:
            yield path, REMOVED
        elif owners and not _is_ours(owners):
            yield path, f"{names.SECRET_SHOWN}{_whose(owners)}"


def _differences(applied: Any, live: Any, path: str, writers: Writers) -> Iterator[tuple[str, str]]:
    if isinstance(applied, Mapping) and isinstance(live, Mapping):
        for key, value in applied.items():
            below = f"{path}[{key}]" if "/" in key or "." in key else f"{path}.{key}"
            owners = _narrowed(writers, f"f:{key}")
            yield from _of_field(value, live.get(key), below, owners)
        return
    keys = _list_keys(applied, live, writers)
    if keys:
        for item in applied:
            name = {key: item[key] for key in keys if key in item}
            below = f"{path}[{','.join(str(each) for each in name.values())}]"
            found = next((each for each in live if _has(each, name)), None)
            yield from _of_field(item, found, below, _narrowed_to_item(writers, name))
        return
    if applied != live and not _is_ours(writers):
        yield path, f"{shown(live, name=path)}{_whose(writers)}"


def _of_field(applied: Any, live: Any, path: str, writers: Writers) -> Iterator[tuple[str, str]]:
    """A field, or an item of a list, that may be missing; what is empty counts as missing."""
    if live is None:
        if applied or applied in (0, False):
            yield path, REMOVED
        return
    yield from _differences(applied, live, path, writers)


def _list_keys(applied: Any, live: Any, writers: Writers) -> tuple[str, ...]:
    """The fields that tell items of a list apart; none where it is one value as a whole."""
    if not isinstance(applied, list | tuple) or not isinstance(live, list):
        return ()
    for writer in writers:
        for key in writer.fields:
            if key.startswith("k:"):
                return tuple(json.loads(key[2:]))
    items = [*applied, *live]
    named = bool(items) and all(isinstance(each, Mapping) and "name" in each for each in items)
    # No writer's fields say how the list is merged once every item of it was replaced.
    return ("name",) if named and not writers else ()


def _has(item: Any, name: JSONObject) -> bool:
    return isinstance(item, Mapping) and all(item.get(key) == name[key] for key in name)


def _narrowed_to_item(writers: Writers, name: JSONObject) -> Writers:
    """Writers of the list's item; the server adds keys that have defaults, such as a protocol."""
    return [
        _Writer(writer.name, writer.time, below)
        for writer in writers
        for key, below in writer.fields.items()
        if key.startswith("k:") and _has(json.loads(key[2:]), name)
    ]


def _narrowed(writers: Writers, key: str) -> Writers:
    """Writers of a field; where no writer has parts of what it is in, that is one value as a whole."""
    if not any(each.fields for each in writers):
        return writers
    return [
        _Writer(each.name, each.time, each.fields[key] or {})
        for each in writers
        if key in each.fields
    ]


def _is_ours(writers: Writers) -> bool:
    return any(each.name in OURS for each in writers)


def _whose(writers: Writers) -> str:
    if not writers:
        return ""
    last = max(writers, key=lambda each: each.time)
    return f", set by {last.name} at {last.time}"
