"""What a field may be: small checks, of which each rule of this group makes a table.

A check is asked about a place where something is written, and says what the API server would
refuse. Values of another type are passed over: the rule `schema` has those. What is not known is
noted, and hides nothing else.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from trainer_infra import names
from trainer_infra.api import quantity
from trainer_infra.rules.name_syntax import Syntax
from trainer_infra.rules.rule import Context, Finding, Value
from trainer_infra.rules.shape import faults
from trainer_infra.rules.value import ABSENT, UnseenValue, is_mapping
from trainer_infra.words import listed

Check = Callable[[Value], Iterator[Finding]]


def found_in(place: Value, check: Check) -> Iterator[Finding]:
    """What a check finds at a place; nothing where nothing is written."""
    if place.raw is ABSENT or place.is_noted():
        return
    try:
        yield from check(place)
    except UnseenValue as error:
        place.root.unseen[error.path] = None


def fields(checks: Mapping[str, Check]) -> Check:
    """Of a mapping each field that is written, by its own check."""

    def check(place: Value) -> Iterator[Finding]:
        # Most fields of a pod have no check here, and need not be read.
        for key in place.raw if is_mapping(place.raw) else ():
            known = checks.get(key)
            if known is not None:
                yield from found_in(place[key], known)

    return check


def items(check_one: Check) -> Check:
    """Of a list each item."""

    def check(place: Value) -> Iterator[Finding]:
        for each in place.items():
            yield from found_in(each, check_one)

    return check


def every(*checks: Check) -> Check:
    """All checks of one place."""

    def check(place: Value) -> Iterator[Finding]:
        for each in checks:
            yield from found_in(place, each)

    return check


def text(syntax: Syntax, *, is_optional: bool = True) -> Check:
    """A text of a syntax; an empty one is none, unless it counts."""

    def check(place: Value) -> Iterator[Finding]:
        said = place.raw
        if isinstance(said, str) and (said or not is_optional) and not syntax.fits(said):
            yield place.finding(f"must be {syntax.words}", said)

    return check


def choice(*known: str, is_optional: bool = True) -> Check:
    """One of some words."""

    def check(place: Value) -> Iterator[Finding]:
        said = place.raw
        if isinstance(said, str) and (said or not is_optional) and said not in known:
            yield place.finding(f"must be {listed(known, 'or')}", said)

    return check


def number(least: int, most: int | None = None) -> Check:
    """A whole number within limits."""
    words = f"at least {least}" if most is None else f"from {least} to {most}"

    def check(place: Value) -> Iterator[Finding]:
        said = place.number()
        if said is not None and (said < least or (most is not None and said > most)):
            yield place.finding(f"must be {words}", said)

    return check


def amount(place: Value) -> Iterator[Finding]:
    """A quantity that is not negative."""
    found = place.quantity()
    if found is not None and found < 0:
        yield place.finding("must not be negative", place.raw)
    elif found is None and isinstance(place.raw, str):
        near = quantity.nearest_quantity(place.raw)
        yield place.finding(f"must be {quantity.WORDS}", place.raw, f"write {near}" if near else "")


def required(*keys: str) -> Check:
    """Of a mapping fields that are written and not empty."""

    def check(place: Value) -> Iterator[Finding]:
        for key in keys:
            if is_empty(place[key]):
                yield place[key].finding("is required")

    return check


def one_of(*keys: str, is_optional: bool = False) -> Check:
    """Of a mapping exactly one of some fields, or at most one."""

    def check(place: Value) -> Iterator[Finding]:
        said = [key for key in keys if place[key].is_there() and not is_empty(place[key])]
        if len(said) > 1:
            yield place.finding(f"has {listed(said, 'and')}, of which only one may be set")
        elif not said and not is_optional:
            yield place.finding(f"must have {listed(keys, 'or')}")

    return check


def unique(*keys: str) -> Check:
    """Of a list items that differ in some field; those without are left to others."""

    def check(place: Value) -> Iterator[Finding]:
        seen = set()
        for each in place.items():
            said = tuple(each[key].text() for key in keys)
            if said in seen:
                yield each[keys[0]].finding("is there twice in the list", said[0])
            if all(said):
                seen.add(said)

    return check


def longest(count: int) -> Check:
    """A list of at most so many items."""

    def check(place: Value) -> Iterator[Finding]:
        found = sum(1 for _ in place.items())
        if found > count:
            yield place.finding(f"must have at most {count} items, has {found}")

    return check


def forbidden(what: str) -> Check:
    """A field that must not be written where it is."""

    def check(place: Value) -> Iterator[Finding]:
        yield place.finding(what, None, "remove it")

    return check


def is_empty(value: Value) -> bool:
    """Whether nothing stands there, or an empty text, which the API server takes for nothing."""
    return value.raw is ABSENT or value.raw == ""


def all_items(value: Value) -> tuple[Value, ...]:
    """The items of a list, for what is wrong when something is not among them.

    Raises:
        UnseenValue: They are not all known.
    """
    if not value.is_there():
        return ()
    if value.root.may_have(value.path):
        raise UnseenValue(value.written.path)
    return tuple(value.items())


def unsaid(findings: Iterator[Finding], context: Context[Any]) -> Iterator[Finding]:
    """The findings but those at places that the rule `schema` refuses already."""
    for each in findings:
        if context.subject.kind not in names.WITH_PODS:
            yield each
            continue
        refused = (one.value.written.path for one in context.subject.once(faults.faults_of))
        if not any(each.path[: len(path)] == path for path in refused):
            yield each
