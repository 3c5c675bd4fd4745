"""The walk over one JSON object along its schema; collects every finding.

Keywords are those of the published CRDs (tools/schemas.py refuses others), `propertyNames`, `nullable`, and
what form.py puts in. Strict as the API server's own validation: nothing is converted. A field that is null
counts as not set, as it does there. What has no type is asked nothing but its forms.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, ClassVar, Final

from trainer_infra.api import quantity
from trainer_infra.api.finding import QUOTE, QUOTED, FieldFinding, Path
from trainer_infra.api.shape import schema_rules
from trainer_infra.api.shape.object_meta import PATTERNS
from trainer_infra.api.shape.reading import UNKNOWN, MayHave, UnseenValue, reading
from trainer_infra.api.shape.schema_rules import SchemaRule
from trainer_infra.errors import MOST_PROBLEMS
from trainer_infra.words import listed, nearest

Schema = dict[str, Any]

_TYPES: Final[dict[str, tuple[str, Any]]] = {
    "object": ("an object", Mapping),
    "array": ("a list", (list, tuple)),
    "string": ("a string", str),
    "scalar": ("a number or a string", (str, int, float)),
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
_QUANTITY_PATTERN: Final = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
    r"(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)
_WORDS: Final = PATTERNS | {_QUANTITY_PATTERN: f"must be {quantity.WORDS}"}
"""What a pattern demands, in words; other patterns are shown themselves."""

_ANY_CASE: Final = "(?i)"
UNKNOWN_FIELD: Final = "unknown field"
REMOVE: Final = "remove it"
"""The advice for what must not be there; what is below it is not judged."""
_NAMES_SHOWN: Final = 12


class EnoughFindings(Exception):
    """A walk has found as much as is listed, and ends."""


class Walk:
    """One pass over one object; collects findings, `MOST_PROBLEMS` at most.

    Attributes:
        found: What is wrong.
        unseen: What could not be judged because it is not known: a rule's id, and a path.
    """

    __slots__ = ("_may_have", "_rules", "_shared", "found", "unseen")
    _of_schema: ClassVar[str] = "schema"
    """The id of the rule that a finding has which is not one of a form."""
    _of_quotes: ClassVar[str] = QUOTED
    """The same of a string without quotes."""
    _most: ClassVar[float] = MOST_PROBLEMS

    def __init__(
        self,
        shared: dict[str, Schema],
        rules: Mapping[str, SchemaRule] = schema_rules.RULES,
        may_have: MayHave | None = None,
    ) -> None:
        """Begin a walk along a schema, which may refer to `shared` by name; CEL rules are known by their text.

        `may_have` says where something may stand that is not known; without it all must be known.
        """
        self._shared = shared
        self._rules = rules
        self._may_have = may_have
        self.found: list[FieldFinding] = []
        self.unseen: dict[tuple[str, Path], None] = {}

    def add(self, path: Path, what: str, got: object = None, fix: str = "", rule: str = "") -> None:
        """Keep one finding.

        Raises:
            EnoughFindings: It would be one too many.
        """
        if len(self.found) == self._most:
            raise EnoughFindings
        own = self._of_quotes if fix == QUOTE else self._of_schema
        self.found.append(FieldFinding(path, what, got, fix, rule=rule or own))

    def check(self, value: Any, schema: Schema, path: Path) -> None:
        """Check one value and everything inside it."""
        if value is UNKNOWN and self._may_have is not None:
            self._note(schema, path)
            return
        if "$ref" in schema:
            schema = self._shared[schema["$ref"]]
        if value is None and "nullable" in schema:
            return
        if "x-kubernetes-int-or-string" in schema:
            self._int_or_string(value, schema, path)
        elif self._has_type(value, schema, path):
            self._inside(value, schema, path)
        else:
            return
        self._ask_rules(value, schema, path)

    def _ask_rules(self, value: Any, schema: Schema, path: Path) -> None:
        for rule in schema.get("x-kubernetes-validations", ()):
            known = self._rules.get(rule["rule"])
            if known:
                self._ask(known, value, path, self._of_schema, rule["message"])
        for name, predicate in schema.get("forms", ()):
            self._ask(predicate, value, path, name)

    def _note(self, schema: Schema, path: Path) -> None:
        rules = schema.get("rules", ())
        self.unseen.update({(rule, path): None for rule in (self._of_schema, *rules)})

    def _ask(
        self, predicate: SchemaRule, value: Any, path: Path, rule: str, message: str = ""
    ) -> None:
        seen = value if self._may_have is None else reading(value, path, self._may_have)
        try:
            for broken in schema_rules.broken_rules(predicate, seen):
                if isinstance(broken, UnseenValue):
                    self.unseen[rule, broken.path] = None
                else:
                    what = broken.what or message
                    self.add((*path, *broken.path), what, broken.got, broken.fix, rule)
        except UnseenValue as error:
            self.unseen[rule, error.path] = None

    def standing(self) -> Iterator[FieldFinding]:
        """What is wrong, but for what forms say of a place that is refused or to be removed anyway."""
        refused = {each.path for each in self.found if each.rule == self._of_schema}
        removed = {each.path for each in self.found if each.fix == REMOVE}
        for each in self.found:
            above = {each.path[:length] for length in range(len(each.path))}
            is_own = each.rule == self._of_schema or each.fix == REMOVE
            is_moot = not above.isdisjoint(refused | removed)
            is_moot = is_moot or (not is_own and each.path in refused | removed)
            if each.rule == self._of_schema or not is_moot:
                yield each

    def _int_or_string(self, value: Any, schema: Schema, path: Path) -> None:
        is_quantity = "pattern" in schema
        if isinstance(value, str):
            self._string(value, schema, path)
        elif is_quantity and isinstance(value, float) and math.isfinite(value):
            # The API server refuses it too, with an error that names neither remedy nor reason.
            self.add(path, "must not be a fraction without quotes", value, f'write "{value}"')
        elif isinstance(value, bool) or not isinstance(value, int):
            what = quantity.WORDS if is_quantity else "a whole number or a string"
            self.add(path, f"must be {what}{_null(value)}", value)

    def _inside(self, value: Any, schema: Schema, path: Path) -> None:
        match schema.get("type") or _type_of(value):
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
        if "type" not in schema:
            return True
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
        if self._may_have is not None:
            self._note_absent(value, fields, path)
        self._count_keys(value, schema, path)

    def _note_absent(self, value: Mapping[Any, Any], fields: Schema, path: Path) -> None:
        """Note the fields that something which is not known may yet fill."""
        for name, below in fields.items():
            if value.get(name) is None and self._may_have and self._may_have((*path, name)):
                self._note(below, (*path, name))

    def _count_keys(self, value: Mapping[Any, Any], schema: Schema, path: Path) -> None:
        least, most = schema.get("minProperties", 0), schema.get("maxProperties")
        if least and sum(item is not None for item in value.values()) < least:
            fields = listed(sorted(schema.get("properties", {})), "or", _NAMES_SHOWN)
            self.add(path, "must not be empty", fix=f"set {fields}")
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
        elif "type" in schema and "x-kubernetes-preserve-unknown-fields" not in schema:
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
        for position, item in enumerate(judged if "items" in schema else ()):
            self.check(item, schema["items"], (*path, position))
        self._distinct(judged, schema, path)

    def _distinct(self, value: Sequence[Any], schema: Schema, path: Path) -> None:
        """Refuse a second item of the same key in a list map, or an equal one in a set."""
        if schema.get("x-kubernetes-list-type", "atomic") == "atomic":
            return
        keys = schema.get("x-kubernetes-list-map-keys", ())
        found = value
        if keys:
            defaults = self._defaults(schema["items"])
            found = [
                {name: item.get(name, defaults.get(name)) for name in keys}
                if isinstance(item, Mapping)
                else None
                for item in value
            ]
        for position, first in schema_rules.repeats(found):
            what = f"has the same {' and '.join(keys) or 'value'} as item {first}"
            self.add((*path, position), what, found[position])

    def _defaults(self, schema: Schema) -> Schema:
        """What the API server puts where a field is left out."""
        schema = self._shared[schema["$ref"]] if "$ref" in schema else schema
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


class FormWalk(Walk):
    """A walk along the types and forms of pods: nothing else is asked, and all findings are kept."""

    __slots__ = ()
    _of_schema = _of_quotes = "field-types"
    _most = math.inf

    def __init__(self, may_have: MayHave | None = None) -> None:
        super().__init__({}, {}, may_have)


def _type_of(value: object) -> str:
    """The type of a value of which the schema says none; empty where nothing is below it."""
    if isinstance(value, Mapping):
        return "object"
    return "array" if isinstance(value, list | tuple) else ""


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
