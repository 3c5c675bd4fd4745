"""Objects as somebody might have written them in YAML, and patches of them."""

import itertools
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from hypothesis import strategies as st

from trainer_infra.api import yamltext
from trainer_infra.api.finding import Path
from trainer_infra.rules.finding import REMOVED, Change
from trainer_infra.rules.fixture import with_value_at

T = TypeVar("T")

WORDS = st.sampled_from(
    ["a", "yes", "a, b", "x: y", "#", "a # b", "-", "'", '"', "1", "", " ", "é😀", "{}", "%s", "*a"]
)
TEXTS = WORDS | st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=8)
LONG = st.lists(TEXTS, min_size=2, max_size=3).map("\n".join)
SCALARS: st.SearchStrategy[Any] = TEXTS | LONG | st.none() | st.booleans() | st.integers(-9, 99)
KEYS = st.sampled_from(["a", "b", "c", "name", "a.io/b", "on", "5", "k y"])
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)


@dataclass(frozen=True)
class Patched:
    """A text, a change of it, and what it should be then."""

    text: str
    value: Any
    change: Change
    expected: Any
    may_be_refused: bool


class _Writer:
    """Writes values in any style that YAML has for them."""

    def __init__(self, draw: Callable[..., Any]) -> None:
        self._draw = draw
        self._count = itertools.count()

    def _choose(self, *options: T) -> T:
        chosen: T = self._draw(st.sampled_from(options))
        return chosen

    def fields(self, value: dict[str, Any], indent: int) -> Iterator[str]:
        for key, each in value.items():
            yield from self._gap(indent)
            yield from self._entry(f"{' ' * indent}{yamltext.flow_text(key)}:", each, indent)

    def _entry(self, head: str, value: Any, indent: int) -> Iterator[str]:
        step = self._choose(1, 2, 4)
        is_block = bool(value) and self._choose(True, True, False)
        if isinstance(value, dict) and is_block:
            yield f"{head}{self._comment()}"
            yield from self.fields(value, indent + step)
        elif isinstance(value, list) and is_block:
            yield f"{head}{self._comment()}"
            yield from self._items(value, indent + self._choose(0, 2))
        elif isinstance(value, str) and "\n" in value and self._choose(True, False):
            yield from self._literal(head, value, indent + step)
        else:
            yield f"{head}{self._flow(value)}{self._comment()}"

    def _items(self, value: list[Any], indent: int) -> Iterator[str]:
        for each in value:
            yield from self._gap(indent)
            if isinstance(each, dict) and each and self._choose(True, False):
                first, *rest = self.fields(each, indent + 2)
                while not first.strip() or first.lstrip().startswith("#"):
                    first, *rest = rest
                yield f"{' ' * indent}- {first.lstrip(' ')}"
                yield from rest
            else:
                yield f"{' ' * indent}-{self._flow(each)}{self._comment()}"

    def _literal(self, head: str, value: str, indent: int) -> Iterator[str]:
        text = yamltext.dump_yaml([{"a": value}]).removeprefix("---\n").rstrip("\n")
        first, *rest = text.split("\n")
        if not first.startswith("a: |") or "+" in first or any(map(str.isdigit, first)):
            yield f"{head}{self._flow(value)}"
            return
        yield f"{head}{first.removeprefix('a:')}"
        yield from (f"{' ' * indent}{each[2:]}" if each.strip() else "" for each in rest)

    def _flow(self, value: Any) -> str:
        """On one line, with the space before it."""
        if value is None:
            return self._choose("", " null", " ~")
        quoted = json.dumps(value, ensure_ascii=False)
        plain = yamltext.flow_text([value])[1:-1]
        is_far = any(ord(each) > 0xFFFF for each in quoted)
        return f" {plain if is_far else self._choose(quoted, plain)}"

    def _gap(self, indent: int) -> Iterator[str]:
        comment = f"{' ' * indent}# c{next(self._count)}c"
        gaps: list[tuple[str, ...]] = [(), (), (), ("",), (comment,)]
        yield from self._choose(*gaps)

    def _comment(self) -> str:
        return self._choose("", "", f"  # c{next(self._count)}c")


def _paths(value: Any, path: Path = ()) -> Iterator[Path]:
    yield path
    if isinstance(value, dict):
        for key, each in value.items():
            yield from _paths(each, (*path, key))
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from _paths(each, (*path, index))


def _at(value: Any, path: Path) -> Any:
    for key in path:
        value = value[key]
    return value


@st.composite
def patched(draw: Callable[..., Any]) -> Patched:
    spec = draw(st.dictionaries(KEYS, VALUES, min_size=1, max_size=4))
    value = {"apiVersion": "v1", "kind": "A", "spec": spec}
    text = "\n".join(_Writer(draw).fields(value, 0)) + draw(st.sampled_from(["\n", "\n\n"]))
    text = text.replace("\n", draw(st.sampled_from(["\n", "\r\n"])))
    path = ("spec", *draw(st.sampled_from(sorted(_paths(spec), key=repr))))
    there = _at(value, path)
    new = draw(VALUES.filter(lambda each: each is not None))
    what = draw(st.sampled_from(["replace", "remove", "add"]))
    if what == "add":
        path, there = (*path, "new", "er"), None
    change = Change(path, REMOVED if what == "remove" else new)
    is_scalar = not isinstance(there, dict | list)
    return Patched(
        text=text,
        value=value,
        change=change,
        expected=with_value_at(value, path, None if what == "remove" else new),
        may_be_refused=what != "replace" or not is_scalar,
    )
