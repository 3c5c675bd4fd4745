"""Property values and differences as the CLI prints them with `--diff`."""

import difflib
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from tests.engine import differences, values
from tests.engine.differences import ABSENT, Difference
from trainer_infra.json_values import as_integer

SAME, ADDED, GONE, CHANGED = "  ", "+ ", "- ", "~ "
EMPTY: Final[tuple[object, ...]] = (None, "", [], {})
"""What the CLI shows only where it comes or goes."""
_LINES: Final = 3
_WIDTH: Final = 150
_CONTEXT: Final = 2


def margin(indent: int, mark: str = SAME) -> str:
    """The beginning of a line."""
    return (" " * 4 * indent)[:-2] + mark if indent else mark.strip()


def properties(given: Mapping[str, Any], indent: int, mark: str = SAME) -> str:
    """The properties, each on lines of its own."""
    shown = {key: each for key, each in sorted(given.items()) if not key.startswith("__")}
    width = max(map(len, shown), default=0)
    return "".join(
        f"{margin(indent, mark)}{key:<{width}}: {value(each, indent, mark)}\n"
        for key, each in shown.items()
    )


def value(given: Any, indent: int, mark: str = SAME) -> str:
    """A value, without a line's end."""
    if values.is_secret(given):
        return values.SHOWN
    if isinstance(given, str):
        return text(given, indent, mark)
    if isinstance(given, Mapping):
        inner = properties(given, indent + 1, mark)
        return f"{{\n{inner}{margin(indent)}}}" if given else "{}"
    if isinstance(given, list):
        lines = "".join(
            f"{margin(indent, mark)}    [{index}]: {value(each, indent + 1, mark)}\n"
            for index, each in enumerate(given)
        )
        return f"[\n{lines}{margin(indent)}]" if given else "[]"
    return "<null>" if given is None else json.dumps(as_integer(given))


def text(given: str, indent: int, mark: str) -> str:
    """A text; what is JSON or YAML in it is shown as what it is."""
    if given == values.UNKNOWN:
        return "[unknown]"
    if (inner := differences.decoded(given)) is not None:
        return f"({inner[1]}) {value(inner[0], indent, mark)}\n"
    lines = given.split("\n")
    cut = [each if len(each) <= _WIDTH else f"{each[:_WIDTH]}..." for each in lines[:_LINES]]
    return json.dumps("\n".join([*cut, *["..."] * (len(lines) > _LINES)]), ensure_ascii=False)


def changes(found: Difference, indent: int) -> str:
    """The properties that differ, and those beside them."""
    names = [key for key in found.inner if not str(key).startswith("__")]
    width = max(map(len, names), default=0)
    return "".join(_property(key, width, found.inner[key], indent) for key in names)


def _property(key: str, width: int, found: Difference, indent: int) -> str:
    if found.is_same:
        return (
            f"{margin(indent)}{key:<{width}}: {value(found.new, indent)}\n"
            if found.new not in EMPTY
            else ""
        )
    return _change(found, indent, lambda mark: f"{margin(indent, mark)}{key:<{width}}: ")


def _change(found: Difference, indent: int, title: Callable[[str], str]) -> str:
    """A value that differs; its title says how."""
    if found.inner and isinstance(found.new, list):
        inner = "".join(_elements(found.inner, indent))
        return f"{title(CHANGED)}[\n{inner}{margin(indent)}]\n"
    if found.inner:
        return f"{title(CHANGED)}{{\n{changes(found, indent + 1)}{margin(indent)}}}\n"
    if found.old is not ABSENT and found.new is not ABSENT and _both_plain(found):
        return title(CHANGED) + _of_two(found.old, found.new, indent)
    sides = ((GONE, found.old), (ADDED, found.new))
    return "".join(
        f"{title(mark)}{value(each, indent, mark)}\n"
        for mark, each in sides
        if each is not ABSENT and (ABSENT in (found.old, found.new) or each not in EMPTY)
    )


def _elements(inner: Mapping[Any, Difference], indent: int) -> Iterator[str]:
    for index, each in inner.items():
        at = f"[{index}]: "
        if each.is_same:
            yield f"{margin(indent + 1)}{at}{value(each.new, indent + 2)}\n"
        else:
            yield _change(each, indent + 2, lambda mark, at=at: margin(indent + 1, mark) + at)  # type: ignore[misc]


def _both_plain(found: Difference) -> bool:
    def is_plain(each: Any) -> bool:
        return values.is_secret(each) or not isinstance(each, dict | list)

    return is_plain(found.old) and is_plain(found.new) and "" not in (found.old, found.new)


def _of_two(old: Any, new: Any, indent: int) -> str:
    if isinstance(old, str) and isinstance(new, str) and values.UNKNOWN not in (old, new):
        was, now = differences.decoded(old), differences.decoded(new)
        if was and now:
            found = differences.between(was[0], now[0])
            return _change(found, indent, lambda _: f"({now[1]}) ")
        if "\n" in old + new:
            return "\n" + "".join(_lines(old, new, indent + 1))
        return f"{json.dumps(old, ensure_ascii=False)} => {json.dumps(new, ensure_ascii=False)}\n"
    return f"{value(old, indent)} => {value(new, indent)}\n"


def _lines(old: str, new: str, indent: int) -> Iterator[str]:
    """The lines of a text that differ, with some around them."""
    olds, news = old.split("\n"), new.split("\n")
    codes = difflib.SequenceMatcher(None, olds, news, autojunk=False).get_opcodes()
    for place, (kind, start, end, first, last) in enumerate(codes):
        if kind == "equal":
            same = [each for each in olds[start:end] if each.strip()]
            yield from _around(same, indent, before=place > 0, after=place < len(codes) - 1)
            continue
        yield from (f"{margin(indent, GONE)}{each}\n" for each in olds[start:end] if each.strip())
        yield from (f"{margin(indent, ADDED)}{each}\n" for each in news[first:last] if each.strip())


def _around(same: list[str], indent: int, *, before: bool, after: bool) -> Iterator[str]:
    """Lines that are the same, the far ones left out."""
    if len(same) > _CONTEXT * (before + after) + 1:
        head, tail = same[: _CONTEXT * before], same[len(same) - _CONTEXT * after :]
        same = [*head, "...", *tail]
    yield from (f"{margin(indent)}{each}\n" for each in same)
