"""What is wrong with the plain arguments of a component: one sentence for each problem.

Limits and patterns are those of Kueue v0.19's CRDs and of the validation in its webhooks. A value that
is an Output is judged by the cluster alone.
"""

import inspect
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any, Final

import pulumi

from trainer_infra.api.finding import Path, path_text
from trainer_infra.api.object_meta import OBJECT_META, PATTERNS
from trainer_infra.api.quantity import WORDS, parse_quantity, read_quantity
from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.json_values import json_leaves

_META: Final = OBJECT_META["properties"]
NAME: Final = _META["name"]
"""Of objects of most kinds."""
SHORT_NAME: Final = _META["namespace"]
"""Of namespaces, and of what a reference with a stricter rule names."""
LABEL_KEY: Final = _META["labels"]["propertyNames"]
LABEL_VALUE: Final = _META["labels"]["additionalProperties"]
_INT32: Final = 2**31 - 1
UNKNOWN: Final = "is an Output, whose value the preview does not know"
WRITE_IT: Final = "write the value itself"
_JSON: Final = (str, int, float, type(None))
"""What a leaf of JSON is; True and False are whole numbers to Python."""
_SELECTS: Final = {"In": True, "NotIn": True, "Exists": False, "DoesNotExist": False}
"""Operators of a label selector, and whether they have values."""


def is_plain(value: object) -> bool:
    """Whether a value is known to the program itself: it is no Output and no awaitable."""
    return not (isinstance(value, pulumi.Output) or inspect.isawaitable(value))


def quantity_text(value: Any) -> Any:
    """A quantity as Kueue writes it: its webhooks rewrite others, which a refresh would call drift."""
    if not is_plain(value):
        return pulumi.Output.from_input(value).apply(quantity_text)
    try:
        return str(read_quantity(value))
    except (TypeError, ValueError):
        return value


class ArgumentProblems:
    """The problems of one component, in the order in which they are found."""

    def __init__(self, at: Path = (), found: list[Problem] | None = None) -> None:
        self._at = at
        self.found: list[Problem] = [] if found is None else found

    def inside(self, *path: str) -> "ArgumentProblems":
        """For what stands in an argument: its problems are found here, with the whole path."""
        return ArgumentProblems((*self._at, *path), self.found)

    def add(self, path: Path, what: str, got: object = None, fix: str = "") -> None:
        """One more problem."""
        self.found.append(Problem(path_text((*self._at, *path)), what, got=got, fix=fix))

    def add_all(self, problems: Iterable[Problem]) -> None:
        """Problems that are known with their paths."""
        for each in problems:
            path = ".".join(filter(None, (path_text(self._at), each.path)))
            self.found.append(replace(each, path=path))

    def end(self) -> None:
        """Stop if there is a problem.

        Raises:
            InvalidInput: There is one.
        """
        if self.found:
            raise InvalidInput(self.found)

    def judge_text(self, path: Path, value: object, shape: Mapping[str, Any]) -> None:
        """A text of a shape such as `NAME`."""
        if not is_plain(value):
            return
        if not isinstance(value, str):
            self.add(path, "must be a text", value)
        elif len(value) > shape["maxLength"]:
            self.add(path, f"must have at most {shape['maxLength']} characters", value)
        elif "pattern" in shape and not re.search(shape["pattern"], value):
            self.add(path, PATTERNS[shape["pattern"]], value)
        elif len(value) < shape.get("minLength", 0):
            self.add(path, "must not be empty")

    def judge_choice(self, path: Path, value: object, choices: Sequence[str]) -> None:
        """One of a few words."""
        if is_plain(value) and value not in choices:
            self.add(path, f"must be one of {', '.join(choices)}", value)

    def judge_number(self, path: Path, value: object, least: int = -_INT32 - 1) -> None:
        """A whole number of 32 bits."""
        if not is_plain(value):
            return
        whole = isinstance(value, int) and not isinstance(value, bool)
        if not whole or not least <= value <= _INT32:  # type: ignore[operator]
            bound = f"from {least} " if least > -_INT32 else ""
            self.add(path, f"must be a whole number {bound}up to {_INT32}", value)

    def judge_quantity(self, path: Path, value: object) -> Decimal | None:
        """The amount of a quantity that is not negative; None where there is none or it is not known."""
        if not is_plain(value):
            return None
        amount = _amount(value)
        if amount is None:
            self.add(path, f"must be {WORDS}", value)
        elif amount < 0:
            self.add(path, "must not be negative", value)
        return amount

    def judge_weight(self, path: Path, value: object) -> None:
        """A weight of fair sharing; Kueue rounds one of a billionth away."""
        amount = self.judge_quantity(path, value)
        if amount is not None and 0 < amount <= Decimal("1e-9"):
            self.add(path, "must be 0, or more than 1n", value)

    def plain_list(self, path: Path, values: object, most: int, least: int = 0) -> Sequence[Any]:
        """The entries of a list; none of an Output, and of what is no list.

        Args:
            path: where it stands.
            values: the list.
            most: how many entries there may be.
            least: how many there must be.
        """
        if not is_plain(values):
            return ()
        if isinstance(values, str) or not isinstance(values, Sequence):
            self.add(path, "must be a list", values)
            return ()
        self._judge_count(path, len(values), most, least)
        return values

    def plain_mapping(
        self, path: Path, value: object, most: int, least: int = 0
    ) -> Mapping[str, Any]:
        """The entries of a mapping; none of an Output, and of what is no mapping.

        Args:
            path: where it stands.
            value: the mapping.
            most: how many entries there may be.
            least: how many there must be.
        """
        if not is_plain(value):
            return {}
        if not isinstance(value, Mapping):
            self.add(path, "must be a mapping", value)
            return {}
        self._judge_count(path, len(value), most, least)
        return value

    def plain_fields(
        self, path: Path, value: object, known: Sequence[str], needed: Sequence[str] = ()
    ) -> Mapping[str, Any]:
        """The fields of an argument that is a mapping with fixed names.

        Args:
            path: where it stands.
            value: the mapping.
            known: names of its fields.
            needed: those that it must have.
        """
        found = self.plain_mapping(path, value, most=len(known) + len(needed) + 64)
        for each in found:
            if each not in known:
                self.add((*path, str(each)), "is no field here", fix=f"use {', '.join(known)}")
        if found or is_plain(value):
            for each in needed:
                if each not in found:
                    self.add((*path, each), "is missing")
        return found

    def _judge_count(self, path: Path, count: int, most: int, least: int) -> None:
        if count < least:
            self.add(path, "must not be empty")
        elif count > most:
            self.add(path, f"must have at most {most} entries", count)

    def judge_unique(self, path: Path, values: Iterable[object]) -> None:
        """No value twice."""
        listed = [each for each in values if is_plain(each)]
        for each in dict.fromkeys(each for each in listed if listed.count(each) > 1):
            self.add(path, "must name each once", each)

    def judge_labels(self, path: Path, labels: object, most: int = 10_000) -> None:
        """Labels of an object or of a node."""
        for key, value in self.plain_mapping(path, labels, most).items():
            self.judge_text((*path, key), key, LABEL_KEY)
            self.judge_text((*path, key), value, LABEL_VALUE)

    def judge_known(self, path: Path, value: object) -> None:
        """What is written into a file or given to helm in the preview: JSON, no Output inside."""
        for place, leaf in json_leaves(value, path):
            if not is_plain(leaf):
                self.add(place, UNKNOWN, fix=WRITE_IT)
            elif not isinstance(leaf, _JSON):
                self.add(place, "must be a value that JSON has", leaf)

    def judge_selector(self, path: Path, selector: object) -> None:
        """A label selector, in wire form."""
        fields = self.plain_fields(path, selector, ("matchLabels", "matchExpressions"))
        self.judge_labels((*path, "matchLabels"), fields.get("matchLabels", {}))
        at = (*path, "matchExpressions")
        for index, each in enumerate(self.plain_list(at, fields.get("matchExpressions", ()), 64)):
            here = (*at, index)
            found = self.plain_fields(
                here, each, ("key", "operator", "values"), ("key", "operator")
            )
            if "key" in found:
                self.judge_text((*here, "key"), found["key"], LABEL_KEY)
            if "operator" in found:
                self._judge_operator(here, found["operator"], found.get("values") or ())

    def _judge_operator(self, path: Path, operator: object, values: object) -> None:
        self.judge_choice((*path, "operator"), operator, tuple(_SELECTS))
        if operator not in _SELECTS or not is_plain(values):
            return
        wants = _SELECTS[str(operator)]
        if wants != bool(values):
            what = f"must {'' if wants else 'not '}be there where the operator is {operator}"
            self.add((*path, "values"), what)
        for value in self.plain_list((*path, "values"), values, 10_000):
            self.judge_text((*path, "values"), value, LABEL_VALUE)


def _amount(value: object) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, float | int | str):
        return None
    try:
        return parse_quantity(value)
    except ValueError:
        return None
