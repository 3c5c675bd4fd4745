"""What is wrong with the plain arguments of a component: one sentence for each problem.

A value that is an Output is judged by the cluster alone.
"""

import inspect
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Any, Final

import pulumi

from trainer_infra.api.finding import Path, is_within, path_text
from trainer_infra.api.quantity import WORDS, parse_quantity, read_quantity
from trainer_infra.api.shape.object_meta import OBJECT_META
from trainer_infra.api.shape.reading import UNKNOWN as NOT_KNOWN
from trainer_infra.api.shape.reading import unknown_paths, with_stand_ins
from trainer_infra.api.shape.schema import in_order
from trainer_infra.api.shape.walk import Schema, Walk
from trainer_infra.errors import Problem
from trainer_infra.json_values import json_leaves, with_leaves

_META: Final = OBJECT_META["properties"]
NAME: Final = _META["name"]
"""Of objects of most kinds."""
SHORT_NAME: Final = _META["namespace"]
"""Of namespaces, and of what a reference with a stricter rule names."""
INTEGER: Final = {"type": "integer", "format": "int32"}
UNKNOWN: Final = "is an Output, whose value the preview does not know"
WRITE_IT: Final = "write the value itself"
_JSON: Final = (str, int, float, type(None))
"""What a leaf of JSON is; True and False are whole numbers to Python."""


def is_plain(value: object) -> bool:
    """Whether a value is known to the program itself: it is not an Output and no awaitable."""
    return not (isinstance(value, pulumi.Output) or inspect.isawaitable(value))


def without_outputs(value: Any) -> Any:
    """A copy with `reading.UNKNOWN` in place of every Output."""
    return with_leaves(value, lambda leaf: leaf if is_plain(leaf) else NOT_KNOWN)


def quantity_text(value: Any) -> Any:
    """A quantity as Kueue writes it: its webhooks rewrite others, which a refresh would call drift."""
    if not is_plain(value):
        return pulumi.Output.from_input(value).apply(quantity_text)
    try:
        return str(read_quantity(value))
    except (TypeError, ValueError):
        return value


def quantity_texts(amounts: Mapping[str, Any]) -> dict[str, Any]:
    """The same of every amount of a mapping."""
    return {resource: quantity_text(each) for resource, each in amounts.items()}


def shape_problems(path: Path, value: object, shape: Schema) -> Iterator[Problem]:
    """What a schema, `NAME` for example, says is wrong with an argument; nothing of what is an Output."""
    known = without_outputs(value)
    hidden = tuple(unknown_paths(known))
    for each in in_order(Walk({}), with_stand_ins(known), shape):
        if not is_within(each.path, hidden):
            yield replace(each, path=(*path, *each.path)).problem("")


def quantity_problems(path: str, value: object) -> Iterator[Problem]:
    """What is wrong with an amount: it must be a quantity, and not negative."""
    if not is_plain(value):
        return
    amount = known_amount(value)
    if amount is None:
        yield Problem(path, f"must be {WORDS}", value)
    elif amount < 0:
        yield Problem(path, "must not be negative", value)


def known_amount(value: object) -> Decimal | None:
    """The amount of a quantity; None of what is none, or is not known."""
    if isinstance(value, bool) or not isinstance(value, float | int | str):
        return None
    try:
        return parse_quantity(value)
    except ValueError:
        return None


def unknown_problems(path: Path, value: object) -> Iterator[Problem]:
    """What is written into a file or given to helm in the preview: JSON, no Output inside."""
    for place, leaf in json_leaves(value, path):
        if not is_plain(leaf):
            yield Problem(path_text(place), UNKNOWN, fix=WRITE_IT)
        elif not isinstance(leaf, _JSON):
            yield Problem(path_text(place), "must be a value that JSON has", leaf)


def beside_manifests(args: Mapping[str, Any], *others: str) -> Iterator[Problem]:
    """Arguments that `manifests` stands in place of, where the program gives both."""
    for each in others:
        if "manifests" in args and each in args:
            got = args[each] if isinstance(args[each], str) else None
            what, fix = "and manifests= exclude one another", "leave one of the two out"
            yield Problem(each, what, got, fix)


def inside(argument: str, problems: Iterable[Problem]) -> Iterator[Problem]:
    """Problems of what stands in an argument, with the whole path."""
    for each in problems:
        yield replace(each, path=".".join(filter(None, (argument, each.path))))


def without_repeats(*sources: Iterable[Problem]) -> Iterator[Problem]:
    """The problems of all sources in order, without those of places that an earlier source names."""
    told: set[str] = set()
    for source in sources:
        found = {(each.path, each.what): each for each in source if each.path not in told}
        yield from found.values()
        told |= {path for path, _ in found}
