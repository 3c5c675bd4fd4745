"""What became of each file below the paths of a check: judged or not, and why not. Pure.

A folder that is not read stands for all that is in it. So every file is there once, by itself or by the
folder above it.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

from trainer_infra import words

_NAMED: Final = 5
"""Files that are named of those that are alike: the JSON report has all."""


class Use(StrEnum):
    """What a check makes of a file, the strongest last."""

    PASSED_OVER = "passed over"
    DATA = "data"
    BUILT = "built into"
    JUDGED = "judged"
    UNREAD = "could not be read"


Roles: TypeAlias = dict[str, tuple[Use, str]]
"""What something is built from, by whole paths without links: what becomes of it, and by what. What is DATA is
read by itself, too."""
_COUNTED: Final[Mapping[str, str]] = {Use.BUILT: "built into others"}


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file, or a folder with all that is in it."""

    path: str
    """As the user named it, or its path from the folder that was named."""
    use: Use
    why: str = ""
    """By what it is built, why it was passed over, what it is where it is not plain data, or what of it was
    not judged; a clause."""


def joined_files(files: Iterable[SourceFile]) -> tuple[SourceFile, ...]:
    """Each file once, as what is most: one that is named by itself is judged, also in a hidden folder."""
    found: dict[str, SourceFile] = {}
    for each in files:
        path = os.path.normpath(each.path)
        known = found.get(path)
        if known is None or _rank(known) < _rank(each):
            found[path] = each
    above = set[str]()
    for path in found:
        while (path := path.rpartition(os.sep)[0]) and path not in above:
            above.add(path)
    return tuple(each for path, each in found.items() if path not in above)


def _rank(file: SourceFile) -> tuple[int, bool]:
    return tuple(Use).index(file.use), bool(file.why)


def counted_files(files: Iterable[SourceFile]) -> Mapping[str, int]:
    """How many there are of each use, `judged` first; a folder counts as one."""
    uses = [each.use for each in files]
    order = (Use.JUDGED, Use.BUILT, Use.DATA, Use.PASSED_OVER, Use.UNREAD)
    return {use: uses.count(use) for use in order if use in uses}


def counted_text(files: Iterable[SourceFile]) -> str:
    """`; of 9 files and folders: 4 judged, 3 built into others, 2 data`, or nothing where there are none."""
    counts = counted_files(files)
    told = ", ".join(f"{number} {_COUNTED.get(use, use)}" for use, number in counts.items())
    total = sum(counts.values())
    these = "1 file" if total == 1 else f"{total} files and folders"
    return f"; of {these}: {told}" if told else ""


def passed_over_lines(files: Iterable[SourceFile]) -> Iterator[str]:
    """What was not judged though it might be meant for a cluster: a line for each reason, with some names."""
    reasons: dict[str, list[str]] = {}
    for each in files:
        if each.why and each.use in {Use.PASSED_OVER, Use.DATA, Use.JUDGED}:
            reasons.setdefault(each.why, []).append(each.path)
    for why, paths in reasons.items():
        yield f"{words.listed(paths, most=_NAMED)}: {why}"
