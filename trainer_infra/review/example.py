"""A case of a rule as YAML in which the field that makes it bad is marked.

Used by `rulebook` and `rules_page`; pure. Containers without others in them are written on one line,
except where the field in question is inside.
"""

from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher
from typing import Any, Final

from trainer_infra.api import yamltext
from trainer_infra.api.finding import Path
from trainer_infra.rules.fixture import Case

SAME: Final = "  "
BAD: Final = "- "
GOOD: Final = "+ "
_WIDTH: Final = 88
"""Characters of a container on one line at most."""


def example_lines(case: Case) -> Iterator[str]:
    """What the case is, as the difference between the bad and the good objects."""
    for each in _given(case):
        yield f"{SAME}# {each}"
    good, bad = (list(_objects(case, is_good=is_good)) for is_good in (True, False))
    for kind, start, end, other_start, other_end in SequenceMatcher(
        None, bad, good, autojunk=False
    ).get_opcodes():
        if kind == "equal":
            yield from (f"{SAME}{each}" for each in bad[start:end])
        else:
            yield from (f"{BAD}{each}" for each in bad[start:end])
            yield from (f"{GOOD}{each}" for each in good[other_start:other_end])


def _given(case: Case) -> Iterator[str]:
    if case.parameters is not None:
        yield f"parameters: {yamltext.flow_text(case.parameters)}"
    if case.pools:
        yield from _field("pools", [each.to_wire() for each in case.pools], ())


def _objects(case: Case, *, is_good: bool) -> Iterator[str]:
    first, *others = case.objects(is_good=is_good)
    yield from _written(first, case.bad.path)
    for each in others:
        yield from ("---", *_written(each, ()))


def _written(value: Any, way: Path) -> list[str]:
    """The lines of a value; `way` leads to the field in question, () where it is not inside."""
    if not _is_block(value, way):
        return [yamltext.flow_text(value)]
    if isinstance(value, Mapping):
        return [line for key in value for line in _field(key, value[key], _below(way, key))]
    return [line for at, each in enumerate(value) for line in _item(each, _below(way, at))]


def _field(key: str, value: Any, way: Path) -> list[str]:
    name, text = yamltext.flow_text(key), _written(value, way)
    if not _is_block(value, way):
        return [f"{name}: {text[0]}"]
    indent = SAME if isinstance(value, Mapping) else ""
    return [f"{name}:", *(f"{indent}{line}" for line in text)]


def _item(value: Any, way: Path) -> list[str]:
    first, *others = _written(value, way)
    return [f"- {first}", *(f"{SAME}{line}" for line in others)]


def _is_block(value: Any, way: Path) -> bool:
    if not value or not isinstance(value, Mapping | list | tuple):
        return False
    parts = value.values() if isinstance(value, Mapping) else value
    is_leaf = not any(isinstance(each, Mapping | list | tuple) and each for each in parts)
    return bool(way) or not is_leaf or len(yamltext.flow_text(value)) > _WIDTH


def _below(way: Path, key: str | int) -> Path:
    return way[1:] if way and way[0] == key else ()
