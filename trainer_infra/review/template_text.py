"""A template of a chart as YAML, with lines and columns as they are in its file.

Without its actions a template is YAML most of the time. Where a condition has several branches,
each of them is a text of its own: with all of them a field would be there twice.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

BLANK: Final = "\ue000"
"""Stands for a character of an action; no manifest has it, and YAML may."""
_ACTION: Final = re.compile(r"\{\{.*?\}\}", re.DOTALL)
_WORD: Final = re.compile(r"\{\{-?\s*(\w+)")
_VALUE: Final = re.compile(r"\.Values((?:\.[A-Za-z_]\w*)+)")
_HEADS: Final = ("---", "apiVersion:", "kind:")
_OPENING: Final = frozenset({"if", "with", "range", "define", "block"})
_MOST: Final = 4
"""Branches of a condition that are looked into."""
_CHARACTER: Final = re.compile(r"[^\n]")


def template_texts(template: str) -> tuple[str, ...]:
    """The texts: the first one has the first branch of each condition, the second the second."""
    branches = tuple(_branches(template))
    count = min(_MOST, max(map(len, branches), default=1))
    return tuple(_text(template, branches, number) for number in range(count))


def _text(template: str, branches: tuple[list[tuple[int, int]], ...], number: int) -> str:
    """One of them; a condition with fewer branches has its last one."""
    for each in branches:
        for index, (start, end) in enumerate(each):
            if index != min(number, len(each) - 1):
                template = template[:start] + _blanked(template[start:end]) + template[end:]
    return skeleton(template)


def skeleton(template: str) -> str:
    """The template with its actions blanked out."""
    blanked = _ACTION.sub(lambda each: _blanked(each[0]), template)
    lines = ("" if not each.replace(BLANK, "").strip() else each for each in blanked.split("\n"))
    return "\n".join(lines)


def heads(template: str) -> str:
    """What says of which kind its objects are, and nothing else: a text that is YAML where they are not."""
    lines = skeleton(template).split("\n")
    return "\n".join(each if each.startswith(_HEADS) else "" for each in lines)


def value_paths(lines: Iterable[str]) -> Iterator[tuple[str, ...]]:
    """The values that a template takes on some lines: `.Values.a.b`, also by another root."""
    for each in lines:
        for found in _VALUE.finditer(each):
            yield tuple(found[1].split(".")[1:])


def _blanked(text: str) -> str:
    return _CHARACTER.sub(BLANK, text)


def _branches(template: str) -> Iterator[list[tuple[int, int]]]:
    """Beginnings and ends of the branches of each condition that has an `else`."""
    waiting: list[list[tuple[int, int]]] = []
    for action in _ACTION.finditer(template):
        word = _WORD.match(action[0])
        name = word[1] if word else ""
        if name in _OPENING:
            waiting.append([(action.end(), action.end())])
        elif name in {"else", "end"} and waiting:
            start, _ = waiting[-1][-1]
            waiting[-1][-1] = (start, action.start())
            if name == "else":
                waiting[-1].append((action.end(), action.end()))
            else:
                found = waiting.pop()
                yield from [found][: len(found) - 1]
