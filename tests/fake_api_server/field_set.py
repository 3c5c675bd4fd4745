"""Which fields of an object a manager owns, as `managedFields` writes them (FieldsV1). Pure.

A field is a path of FieldsV1 keys: `f:<name>` for a field or a map's key, `k:{...}` for an item
of a list by its keys, `v:<value>` for an item of a set; an item as such ends with `.`. Used by
memory.py to apply, and by the drivers on Kubernetes to tell our fields from others'. What is a
list by keys, and what is changed as one piece, is in the kind's schema (shape.py).
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from tests.fake_api_server import schema_shape
from tests.fake_api_server.schema_shape import Schema

JSON = Mapping[str, Any]
Field = tuple[str, ...]
FieldSet = frozenset[Field]

ITSELF: Final = "."
"""The last part of a path to an item of a list, as opposed to its fields."""
MISSING: Final = object()
"""What is at a path where there is nothing."""


def parsed(fields: JSON) -> FieldSet:
    """The fields of an entry's `fieldsV1`."""
    return frozenset(_parsed(fields, ()))


def _parsed(fields: JSON, path: Field) -> Iterator[Field]:
    for part, below in fields.items():
        if below:
            yield from _parsed(below, (*path, part))
        else:
            yield (*path, part)


def written(fields: FieldSet) -> dict[str, Any]:
    """The `fieldsV1` of some fields."""
    root: dict[str, Any] = {}
    for path in sorted(fields):
        at = root
        for part in path:
            at = at.setdefault(part, {})
    return root


def of(value: Any, schema: Schema, path: Field = ()) -> FieldSet:
    """The fields that a value sets; nulls set nothing."""
    return frozenset(_of(value, schema, path))


def _of(value: Any, schema: Schema, path: Field) -> Iterator[Field]:
    if isinstance(value, Mapping) and value and not schema_shape.is_atomic_map(schema):
        for name, item in value.items():
            if item is not None:
                yield from _of(item, schema_shape.field(schema, name), (*path, f"f:{name}"))
    elif isinstance(value, Sequence) and value and schema_shape.is_set(schema):
        yield from ((*path, f"v:{json.dumps(item)}") for item in value)
    elif isinstance(value, Sequence) and value and schema_shape.keys(schema):
        for item in value:
            place = (*path, key(item, schema))
            yield (*place, ITSELF)
            yield from _of(item, schema_shape.items(schema), place)
    else:
        yield path


def key(item: JSON, schema: Schema) -> str:
    """The part of a path for an item of a list by keys."""
    below = schema_shape.items(schema)
    found = {
        name: item.get(name, schema_shape.field(below, name).get("default"))
        for name in sorted(schema_shape.keys(schema))
    }
    present = {name: value for name, value in found.items() if value is not None}
    return f"k:{json.dumps(present, separators=(',', ':'))}"


def at(value: Any, path: Field, schema: Schema) -> Any:
    """What an object has at a path; MISSING where there is nothing."""
    for part in path:
        if part == ITSELF:
            return value if value is MISSING else True
        value, schema = _step(value, part, schema)
        if value is MISSING:
            return MISSING
    return value


def _step(value: Any, part: str, schema: Schema) -> tuple[Any, Schema]:
    mark, name = part[:2], part[2:]
    if mark == "f:" and isinstance(value, Mapping):
        return value.get(name, MISSING), schema_shape.field(schema, name)
    if mark == "v:" and isinstance(value, Sequence):
        item = json.loads(name)
        return item if item in value else MISSING, {}
    if mark == "k:" and isinstance(value, Sequence):
        found = (item for item in value if key(item, schema) == part)
        return next(found, MISSING), schema_shape.items(schema)
    return MISSING, {}


def merged(live: Any, applied: Any, schema: Schema) -> Any:
    """A live value with what was applied; what is new in a list comes last."""
    if isinstance(applied, Mapping) and isinstance(live, Mapping):
        if schema_shape.is_atomic_map(schema):
            return dict(applied)
        changed = {
            name: merged(live.get(name), item, schema_shape.field(schema, name))
            for name, item in applied.items()
            if item is not None
        }
        return {**live, **changed}
    if isinstance(applied, Mapping):
        return (
            merged({}, applied, schema) if not schema_shape.is_atomic_map(schema) else dict(applied)
        )
    if isinstance(applied, Sequence) and isinstance(live, Sequence) and schema_shape.is_set(schema):
        return [*live, *(item for item in applied if item not in live)]
    if isinstance(applied, Sequence) and schema_shape.keys(schema):
        return _merged_items(live or (), applied, schema)
    return applied


def _merged_items(live: Sequence[JSON], applied: Sequence[JSON], schema: Schema) -> list[Any]:
    there = {key(item, schema): item for item in live}
    ours = {
        key(item, schema): merged(there.get(key(item, schema)), item, schema_shape.items(schema))
        for item in applied
    }
    return list(ours.values() if there.keys() <= ours.keys() else {**there, **ours}.values())


def without(value: Any, gone: FieldSet, schema: Schema) -> Any:
    """A value without some fields; what held nothing else goes too. MISSING if nothing is left."""
    if () in gone:
        return MISSING
    if not gone:
        return value
    below: dict[str, set[Field]] = {}
    for first, *rest in gone:
        below.setdefault(first, set()).add(tuple(rest))
    if isinstance(value, Mapping):
        pairs = (
            (name, without(item, _under(below, f"f:{name}"), schema_shape.field(schema, name)))
            for name, item in value.items()
        )
        left: Any = {name: item for name, item in pairs if item is not MISSING}
        return left or MISSING
    if isinstance(value, Sequence) and not isinstance(value, str):
        kept = [_item_without(item, below, schema) for item in value]
        return [item for item in kept if item is not MISSING] or MISSING
    return value


def _under(below: Mapping[str, set[Field]], part: str) -> FieldSet:
    return frozenset(below.get(part, ()))


def _item_without(item: Any, below: Mapping[str, set[Field]], schema: Schema) -> Any:
    if schema_shape.is_set(schema):
        return MISSING if f"v:{json.dumps(item)}" in below else item
    if not schema_shape.keys(schema):
        return item
    gone = _under(below, key(item, schema))
    return MISSING if (ITSELF,) in gone else without(item, gone, schema_shape.items(schema))
