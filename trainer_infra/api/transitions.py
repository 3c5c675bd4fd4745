"""What an update may not change: the rules of the published schemas that name the old object.

A rule `self == oldSelf` is checked where the value is in both objects, after defaults were filled
in; a field that is added or removed passes (reference behaviour 1.0). Items of a list map are
compared by their key, items of other lists with nothing.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from trainer_infra.api.finding import FieldFinding, Path
from trainer_infra.api.shape import schema
from trainer_infra.api.shape.walk import Schema
from trainer_infra.json_values import JSONObject

UNCHANGED: Final = "self == oldSelf"
"""The one rule of the published schemas that compares with the old object."""
_KEYS: Final = "x-kubernetes-list-map-keys"


def transition_findings(old: JSONObject, new: JSONObject, name: str) -> tuple[FieldFinding, ...]:
    """Every field of `new` that an update from `old` may not change, in the order of the schema of that name."""
    return tuple(_changes(old, new, schema.published_schema()[0][name], ()))


def _changes(old: Any, new: Any, of: Schema, path: Path) -> Iterator[FieldFinding]:
    of = _resolved(of)
    if old == new or old is None or new is None:
        return
    for rule in of.get("x-kubernetes-validations", ()):
        if rule["rule"] == UNCHANGED and _normal(old, of) != _normal(new, of):
            yield FieldFinding(path, rule["message"], got=new)
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for field in {**of.get("properties", {}), **dict.fromkeys(new)}:
            below = _field(of, field)
            stored, wanted = (each.get(field, below.get("default")) for each in (old, new))
            yield from _changes(stored, wanted, below, (*path, field))
    elif _KEYS in of and isinstance(old, Sequence) and isinstance(new, Sequence):
        by_key = {_key(item, of): item for item in old}
        for position, item in enumerate(new):
            yield from _changes(by_key.get(_key(item, of)), item, of["items"], (*path, position))


def _resolved(of: Schema) -> Schema:
    return schema.published_schema()[1][of["$ref"]] if "$ref" in of else of


def _field(of: Schema, name: str) -> Schema:
    """The schema of an object's field, or of a map's value; empty when there is none."""
    others = of.get("additionalProperties")
    found = of.get("properties", {}).get(name, others if isinstance(others, dict) else {})
    return _resolved(found)


def _key(item: JSONObject, of: Schema) -> str:
    """What tells an item of a list map from the others, with its defaults."""
    below = _resolved(of["items"])
    return json.dumps([item.get(key, _field(below, key).get("default")) for key in of[_KEYS]])


def _normal(value: Any, of: Schema) -> Any:
    """The value as the API server compares it: with defaults, without nulls.

    List maps and sets have no order.
    """
    of = _resolved(of)
    if isinstance(value, Mapping):
        fields = {**of.get("properties", {}), **dict.fromkeys(value)}
        whole = {name: value.get(name, _field(of, name).get("default")) for name in fields}
        return {
            name: _normal(item, _field(of, name))
            for name, item in whole.items()
            if item is not None
        }
    if not isinstance(value, list | tuple):
        return value
    items = [_normal(item, of.get("items", {})) for item in value]
    if of.get("x-kubernetes-list-type") in {"map", "set"}:
        items.sort(key=lambda item: json.dumps(item, sort_keys=True))
    return items
