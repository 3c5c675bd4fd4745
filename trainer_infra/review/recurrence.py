"""Which of the things that are there were there before, folder by folder. Pure.

Used for objects (`changed_files`) and findings (`baseline`). A thing in the folder that it was in is
no news, nor is one that moved to another; a copy is, because there is one more of them.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TypeAlias, TypeVar

K = TypeVar("K")
Mark: TypeAlias = tuple[str, str]
"""What something is, and the folder that it is in."""


def recurrences(now: Sequence[Mark], before: Iterable[Mark]) -> tuple[bool, ...]:
    """Of each thing that is there now, whether it was there before."""
    left = Counter(before)
    found = [_taken(left, each) for each in now]
    moved: Counter[str] = Counter()
    for (what, _), count in left.items():
        moved[what] += count
    return tuple(
        was_there or _taken(moved, what) for was_there, (what, _) in zip(found, now, strict=True)
    )


def _taken(counts: Counter[K], key: K) -> bool:
    """Whether there is one left, which is then gone."""
    if not counts[key]:
        return False
    counts[key] -= 1
    return True
