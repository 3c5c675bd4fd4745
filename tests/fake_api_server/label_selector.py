"""Label and field selectors, as an API server reads them. Pure.

For lists and watches of the client in memory.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

JSON = Mapping[str, Any]
Matches = Callable[[JSON], bool]

_REQUIREMENT: Final = re.compile(
    r"\s*(?:(?P<key>[\w./-]+)\s*(?:(?P<sign>==|=|!=)\s*(?P<value>[\w.-]*)"
    r"|\s(?P<among>in|notin)\s*\((?P<values>[^()]*)\))?|!\s*(?P<without>[\w./-]+))\s*(?:,|$)"
)
_FIELD: Final = re.compile(r"\s*([\w.]+)\s*(==|=|!=)\s*([^,]*?)\s*(?:,|$)")

_EVERY_KIND: Final = ("metadata.name", "metadata.namespace")
_MORE: Final = {
    "Pod": ("spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "status.phase"),
    "Event": (
        "involvedObject.kind",
        "involvedObject.name",
        "involvedObject.namespace",
        "involvedObject.uid",
        "reason",
        "type",
    ),
    "Secret": ("type",),
    "Namespace": ("status.phase",),
    "Job": ("status.successful",),
}


def labels(text: str) -> Matches:
    """What a label selector selects.

    Raises:
        ValueError: It cannot be read.
    """
    wanted = list(_requirements(text))

    def matches(value: JSON) -> bool:
        has = value["metadata"].get("labels") or {}
        return all(one(has) for one in wanted)

    return matches


def fields(text: str, kind: str) -> Matches:
    """What a field selector selects among a kind's objects.

    Raises:
        ValueError: It cannot be read, or the kind cannot be selected by such a field.
    """
    wanted = []
    for found in _each(_FIELD, text):
        path, sign, value = found.groups()
        if path not in (*_EVERY_KIND, *_MORE.get(kind, ())):
            raise ValueError(f"field label not supported: {path}")
        wanted.append((path.split("."), sign != "!=", value))
    return lambda value: all(
        (_at(value, path) == expected) is equal for path, equal, expected in wanted
    )


def _at(value: Any, path: list[str]) -> str:
    for part in path:
        value = value.get(part) if isinstance(value, Mapping) else None
    return "" if value is None else str(value)


def _requirements(text: str) -> Iterator[Matches]:
    for found in _each(_REQUIREMENT, text):
        yield _requirement(found)


def _requirement(found: "re.Match[str]") -> Matches:
    key, without = found["key"], found["without"]
    if without:
        return lambda has: without not in has
    if found["among"]:
        values = [value.strip() for value in found["values"].split(",")]
        wanted = found["among"] == "in"
        return lambda has: (key in has and has[key] in values) is wanted
    if found["sign"]:
        value, equal = found["value"], found["sign"] != "!="
        return lambda has: (key in has and has[key] == value) is equal
    return lambda has: key in has


def _each(pattern: "re.Pattern[str]", text: str) -> Iterator["re.Match[str]"]:
    position = 0
    while position < len(text):
        found = pattern.match(text, position)
        if found is None:
            raise ValueError(f"unable to parse requirement: {text[position:]!r}")
        yield found
        position = found.end()
