"""The vocabulary of forms: what may stand in a field, where the published schema leaves it open.

A form is a part of a schema: `properties`, `items` and `additionalProperties` lead to fields, and
`forms` has the predicates that are asked of what stands there; other keywords are those of schemas. An empty
text is none to the API server, unless it counts.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from trainer_infra.api import quantity
from trainer_infra.api.finding import FieldFinding, Path
from trainer_infra.api.shape.reading import UnseenValue
from trainer_infra.api.shape.schema_rules import Broken, BrokenRule, SchemaRule, repeats
from trainer_infra.api.shape.syntax import Syntax
from trainer_infra.api.shape.walk import REMOVE, FormWalk, Schema
from trainer_infra.errors import InvalidInput
from trainer_infra.words import listed

JSON = Mapping[str, Any]

_OPEN: Final[Schema] = {"nullable": True}
"""Of a field that a published schema does not have."""


def asked(*predicates: SchemaRule) -> Schema:
    """What predicates ask of a value."""
    return {"forms": predicates}


def fields(**parts: Schema) -> Schema:
    """Of a mapping the fields that have a form."""
    return {"properties": parts}


def items(form: Schema) -> Schema:
    """Of a list each item."""
    return {"items": form}


def values(form: Schema) -> Schema:
    """Of a mapping each value, whatever its key."""
    return {"additionalProperties": form}


def at(path: Iterable[str], form: Schema) -> Schema:
    """A form below several fields; `*` stands for every item of a list, and every value of a mapping."""
    for key in reversed([*path]):
        form = {**items(form), **values(form)} if key == "*" else fields(**{key: form})
    return form


def every(*forms: Schema) -> Schema:
    """Several forms of one value."""
    joined: dict[str, Any] = {}
    for form in forms:
        for key, part in form.items():
            match key:
                case "properties":
                    own = joined.get(key, {})
                    both = {name: every(own[name], part[name]) for name in part if name in own}
                    joined[key] = {**own, **part, **both}
                case "forms":
                    joined[key] = (*joined.get(key, ()), *part)
                case _:
                    joined[key] = every(joined[key], part) if key in joined else part
    return joined


def with_form(
    published: Schema, form: Schema, shared: Mapping[str, Schema], rule: str = "schema"
) -> Schema:
    """A schema with a form put into it; `rules` then has the ids of the rules at and below a place.

    Args:
        published: Not changed, nor what it refers to.
        form: What is put into it; of a field that it does not have nothing else is asked.
        shared: What it may refer to, by name.
        rule: The id of the rule that says what is wrong.
    """
    published = shared[published["$ref"]] if "$ref" in published else published
    joined = dict(published)
    joined["rules"] = published.get("rules", frozenset()) | {rule}
    for key, part in form.items():
        match key:
            case "properties":
                own, other = published.get(key, {}), published.get("additionalProperties", _OPEN)
                inner = {
                    name: with_form(own.get(name, other), each, shared, rule)
                    for name, each in part.items()
                }
                joined[key] = own | inner
            case "items" | "additionalProperties":
                joined[key] = with_form(published.get(key, _OPEN), part, shared, rule)
            case "forms":
                joined[key] = (*published.get(key, ()), *((rule, each) for each in part))
            case _:
                joined[key] = part
    return joined


def found_by(form: Schema, value: Any) -> list[FieldFinding]:
    """What is wrong with a value, of which all is known, by a form alone."""
    walk = FormWalk()
    walk.check(value, with_form({}, form, {}), ())
    return walk.found


def text(syntax: Syntax, *, is_optional: bool = True) -> Schema:
    """A text of a syntax."""

    def broken(said: Any) -> Broken:
        if isinstance(said, str) and (said or not is_optional) and not syntax.fits(said):
            yield BrokenRule((), said, f"must be {syntax.words}")

    return asked(broken)


def choice(*known: str, is_optional: bool = True) -> Schema:
    """One of some words."""
    return text(Syntax(listed(known, "or"), known.__contains__), is_optional=is_optional)


def number(least: int, most: int | None = None) -> Schema:
    """A whole number within limits."""
    words = f"at least {least}" if most is None else f"from {least} to {most}"

    def broken(said: Any) -> Broken:
        if isinstance(said, int) and (said < least or (most is not None and said > most)):
            yield BrokenRule((), said, f"must be {words}")

    return asked(broken)


def _amount(said: Any) -> Broken:
    found = amount_of(said)
    if found is not None and found < 0:
        yield BrokenRule((), said, "must not be negative")
    elif found is None and isinstance(said, str):
        near = quantity.nearest_quantity(said)
        yield BrokenRule((), said, f"must be {quantity.WORDS}", f"write {near}" if near else "")


AMOUNT: Final = asked(_amount)
"""A quantity that is not negative."""


def amount_of(said: Any) -> Any:
    """The amount that a quantity stands for, a Decimal; None where it is none."""
    try:
        return None if isinstance(said, bool) else quantity.parse_quantity(said)
    except (InvalidInput, TypeError, ValueError):
        return None


def required(*keys: str, fix: str = "") -> Schema:
    """Of a mapping fields that are written and not empty, be it a text or a list."""

    def broken(said: JSON) -> Broken:
        for key in keys:
            try:
                found = said.get(key)
            except UnseenValue as error:
                yield error
            else:
                if found is None or (isinstance(found, Sequence) and not found):
                    yield BrokenRule((key,), None, "is required", fix)

    return asked(broken)


def needs(*keys: str, **parts: Schema) -> Schema:
    """Of a mapping fields that are required, and the forms of its fields."""
    return every(required(*keys), fields(**parts))


def one_of(*keys: str, is_optional: bool = False) -> Schema:
    """Of a mapping exactly one of some fields, or at most one."""

    def broken(said: JSON) -> Broken:
        found = [key for key in keys if said.get(key) not in (None, "")]
        if len(found) > 1:
            what = f"has {listed(found, 'and')}, of which only one may be set"
            yield BrokenRule(what=what)
        elif not found and not is_optional:
            yield BrokenRule(what=f"must have {listed(keys, 'or')}")

    return asked(broken)


def unique(*keys: str) -> Schema:
    """Of a list items that differ in some field; those without are left to others."""

    def broken(said: Sequence[JSON]) -> Broken:
        found = ([each.get(key) or "" for key in keys] for each in said)
        for index, _ in repeats(each if all(each) else None for each in found):
            what = "is a duplicate; values must be unique"
            yield BrokenRule((index, keys[0]), said[index][keys[0]], what)

    return asked(broken)


def longest(count: int) -> Schema:
    """A list of at most so many items."""

    def broken(said: list[Any]) -> Broken:
        if len(said) > count:
            yield BrokenRule(what=f"must have at most {count} items, has {len(said)}")

    return asked(broken)


def forbidden(what: str) -> Schema:
    """A field that must not be written where it is."""
    return asked(lambda _said: iter((BrokenRule(what=what, fix=REMOVE),)))


def part_of(said: Any, *keys: str) -> Any:
    """What stands below several fields; an empty mapping where nothing does."""
    for key in keys:
        said = said.get(key) or {}
    return said


def prefixed(path: Path, broken: Broken) -> Broken:
    """What is wrong with a part of a value, with paths from the value."""
    for each in broken:
        if isinstance(each, BrokenRule):
            yield replace(each, path=(*path, *each.path))
        else:
            yield each
