"""The walk over one JSON object along its schema; collects every finding.

Keywords are those of the published CRDs (tools/schemas.py refuses others) and `propertyNames`.
Strict as the API server's own validation: nothing is converted. A field that is null counts as not
set, as it does there.
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final

from trainer_infra.api import quantity, schema_rules
from trainer_infra.api.finding import QUOTE, FieldFinding, Path
from trainer_infra.api.object_meta import PATTERNS
from trainer_infra.api.schema_rules import SchemaRule
from trainer_infra.errors import MOST_PROBLEMS
from trainer_infra.words import listed, nearest

Schema = dict[str, Any]

_TYPES: Final[dict[str, tuple[str, Any]]] = {
    "object": ("an object", Mapping),
    "array": ("a list", (list, tuple)),
    "string": ("a string", str),
    "integer": ("a whole number", int),
    "boolean": ("true or false", bool),
}
_INTEGERS: Final = {"int32": (-(2**31), 2**31 - 1), "int64": (-(2**63), 2**63 - 1)}
_LARGEST_NUMBER: Final = _INTEGERS["int64"]
_DATE_TIME: Final = re.compile(
    r"\d{4}-(0\d|1[0-2])-([0-2]\d|3[01])T([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d+)?"
    r"(Z|[+-]([01]\d|2[0-3]):[0-5]\d)",
    re.ASCII,
)
_QUANTITY: Final = quantity.WORDS
_QUANTITY_PATTERN: Final = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
    r"(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)
_WORDS: Final = PATTERNS | {_QUANTITY_PATTERN: f"must be {_QUANTITY}"}
"""What a pattern demands, in words; other patterns are shown themselves."""

_ANY_CASE: Final = "(?i)"
UNKNOWN_FIELD: Final = "unknown field"
_NAMES_SHOWN: Final = 12


class EnoughFindings(Exception):
    """A walk has found as much as is listed, and ends."""


class Walk:
    """One pass over one object; collects findings, `MOST_PROBLEMS` at most."""

    __slots__ = ("found", "rules", "shared")

    def __init__(
        self, shared: dict[str, Schema], rules: Mapping[str, SchemaRule] = schema_rules.RULES
    ) -> None:
        self.shared = shared
        self.rules = rules
        self.found: list[FieldFinding] = []

    def add(self, path: Path, what: str, got: object = None, fix: str = "") -> None:
        """Keep one finding.

        Raises:
            EnoughFindings: It would be one too many.
        """
        if len(self.found) == MOST_PROBLEMS:
            raise EnoughFindings
        self.found.append(FieldFinding(path, what, got, fix))

    def check(self, value: Any, schema: Schema, path: Path) -> None:
        """Check one value and everything inside it."""
        if "$ref" in schema:
            schema = self.shared[schema["$ref"]]
        if "x-kubernetes-int-or-string" in schema:
            self._int_or_string(value, schema, path)
        elif self._has_type(value, schema, path):
            self._inside(value, schema, path)
        else:
            return
        if "x-kubernetes-validations" in schema:
            self._rules(value, schema, path)

    def _int_or_string(self, value: Any, schema: Schema, path: Path) -> None:
        is_quantity = "pattern" in schema
        if isinstance(value, str):
            self._string(value, schema, path)
        elif is_quantity and isinstance(value, float) and math.isfinite(value):
            # The API server refuses it too, with an error that names neither remedy nor reason.
            self.add(path, "must not be a fraction without quotes", value, f'write "{value}"')
        elif isinstance(value, bool) or not isinstance(value, int):
            what = _QUANTITY if is_quantity else "a whole number or a string"
            self.add(path, f"must be {what}{_null(value)}", value)

    def _inside(self, value: Any, schema: Schema, path: Path) -> None:
        match schema["type"]:
            case "object":
                self._object(value, schema, path)
            case "array":
                self._array(value, schema, path)
            case "string":
                self._string(value, schema, path)
            case "integer":
                low, high = _INTEGERS.get(schema.get("format", ""), _LARGEST_NUMBER)
                least, most = schema.get("minimum", low), schema.get("maximum", high)
                if value < least:
                    self.add(path, f"must be at least {least}", value)
                if value > most:
                    self.add(path, f"must be at most {most}", value)
            case _:
                pass

    def _has_type(self, value: object, schema: Schema, path: Path) -> bool:
        words, types = _TYPES[schema["type"]]
        if isinstance(value, types) and isinstance(value, bool) == (types is bool):
            return True
        scalar = types is str and isinstance(value, (bool, int, float))
        self.add(path, f"must be {words}{_null(value)}", value, QUOTE if scalar else "")
        return False

    def _object(self, value: Mapping[Any, Any], schema: Schema, path: Path) -> None:
        fields: Schema = schema.get("properties", {})
        for name in schema.get("required", ()):
            if value.get(name) is None and "default" not in fields[name]:
                self.add((*path, name), "is required")
        for name, item in value.items():
            if name not in fields:
                self._other_field(name, item, schema, path)
            elif item is not None:
                self.check(item, fields[name], (*path, name))
        if sum(item is not None for item in value.values()) < schema.get("minProperties", 0):
            self.add(
                path, "must not be empty", fix=f"set {listed(sorted(fields), 'or', _NAMES_SHOWN)}"
            )
        most = schema.get("maxProperties")
        if most is not None and len(value) > most:
            self.add(path, f"must have at most {_count(most, 'key')}, has {len(value)}")

    def _other_field(self, name: Any, item: object, schema: Schema, path: Path) -> None:
        """Check a key of a map; refuse a field that the schema does not name."""
        others = schema.get("additionalProperties")
        if not isinstance(name, str):
            self.add((*path, str(name)), "a key must be a string", name, QUOTE)
            return
        if "propertyNames" in schema:
            self._string(name, schema["propertyNames"], (*path, name))
        if isinstance(others, dict):
            if item is not None:
                self.check(item, others, (*path, name))
        elif "x-kubernetes-preserve-unknown-fields" not in schema:
            fix = nearest_name(name, schema.get("properties", {}))
            self.add((*path, name), UNKNOWN_FIELD, fix=fix)

    def _array(self, value: Sequence[Any], schema: Schema, path: Path) -> None:
        least, most = schema.get("minItems", 0), schema.get("maxItems")
        if len(value) < least:
            self.add(path, f"must have at least {_count(least, 'item')}, has {len(value)}")
        if most is not None and len(value) > most:
            self.add(path, f"must have at most {_count(most, 'item')}, has {len(value)}")
        # What is too many is not looked at: a client could have it judged for minutes.
        judged = value if most is None else value[:most]
        for position, item in enumerate(judged):
            self.check(item, schema["items"], (*path, position))
        self._distinct(judged, schema, path)

    def _distinct(self, value: Sequence[Any], schema: Schema, path: Path) -> None:
        """Refuse a second item of the same key in a list map, or an equal one in a set."""
        if schema.get("x-kubernetes-list-type", "atomic") == "atomic":
            return
        keys = schema.get("x-kubernetes-list-map-keys", ())
        defaults = self._defaults(schema["items"])
        seen: dict[str, int] = {}
        for position, item in enumerate(value):
            if keys and not isinstance(item, Mapping):
                continue
            key = {name: item.get(name, defaults.get(name)) for name in keys} if keys else item
            first = seen.setdefault(json.dumps(key, sort_keys=True, default=repr), position)
            if first != position:
                what = f"has the same {' and '.join(keys) or 'value'} as item {first}"
                self.add((*path, position), what, key)

    def _defaults(self, schema: Schema) -> Schema:
        """What the API server puts where a field is left out."""
        schema = self.shared[schema["$ref"]] if "$ref" in schema else schema
        fields = schema.get("properties", {}).items()
        return {name: field["default"] for name, field in fields if "default" in field}

    def _string(self, value: str, schema: Schema, path: Path) -> None:
        most, least = schema.get("maxLength"), schema.get("minLength", 0)
        if most is not None and len(value) > most:
            length = f"must be at most {_count(most, 'character')} long, has {len(value)}"
            self.add(path, length, value)
        if len(value) < least:
            self.add(path, f"must be at least {_count(least, 'character')} long", value)
        if "enum" in schema and value not in schema["enum"]:
            self.add(
                path, f"must be {listed(map(repr, schema['enum']), 'or', _NAMES_SHOWN)}", value
            )
        pattern = schema.get("pattern")
        if pattern is not None and not _compiled(pattern).search(value):
            meant = quantity.nearest_quantity(value) if pattern == _QUANTITY_PATTERN else ""
            fix = f"did you mean {meant}?" if meant else ""
            self.add(path, _WORDS.get(pattern, f"must match {pattern}"), value, fix)
        if schema.get("format") == "date-time" and not _DATE_TIME.fullmatch(value):
            self.add(path, "must be a time such as 2026-01-31T12:00:00Z", value)

    def _rules(self, value: Any, schema: Schema, path: Path) -> None:
        for rule in schema["x-kubernetes-validations"]:
            known = self.rules.get(rule["rule"])
            for broken in schema_rules.broken_rules(known, value) if known else ():
                what = broken.what or rule["message"]
                self.add((*path, *broken.path), what, broken.got, broken.fix)


def _null(value: object) -> str:
    """Words for null, which a finding does not show as its value."""
    return ", not null" if value is None else ""


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """A published pattern; `$` means the very end there, not before a last line feed."""
    end = r"\Z" if pattern.endswith("$") else ""
    text = pattern.removesuffix("$") + end
    # Go takes the flag anywhere, Python at the start alone.
    return re.compile(text.replace(_ANY_CASE, ""), re.ASCII | (_ANY_CASE in text) * re.IGNORECASE)


def nearest_name(name: str, fields: Schema) -> str:
    """Advice for an unknown field: the known one that is most like it, or all of them."""
    if not fields:
        return "no field is known here"
    near = nearest(name.replace("_", ""), fields, any_case=True)
    if near:
        return f"did you mean {near[0]}?"
    return f"known here: {listed(sorted(fields), 'and', _NAMES_SHOWN)}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
