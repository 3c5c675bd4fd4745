"""Files and folders that a check leaves out: patterns as in a `.gitignore` file.

A pattern with a slash holds from the folder of the configuration, or for an option the one that the check
runs in; one without holds at any depth; `!` takes a path in again.
"""

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from trainer_infra.errors import InvalidInput, Problem

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec


@dataclass(frozen=True, slots=True)
class Exclusion:
    """What is left out."""

    patterns: tuple[str, ...] = ()
    """In order: the last one that fits a path holds."""
    root: str = os.curdir
    """The folder that they are relative to."""
    others: "Exclusion | None" = None
    """Those that are relative to another folder."""

    @classmethod
    def of(cls, patterns: Iterable[str], root: str = os.curdir) -> "Exclusion":
        """That of these patterns.

        Raises:
            InvalidInput: One is not a pattern.
        """
        whole = cls(tuple(patterns), root)
        for each in whole.patterns:
            try:
                _spec((each,))
            except ValueError:
                what = "is not a pattern as in a .gitignore file"
                raise InvalidInput([Problem("exclude", what, each)]) from None
        return whole

    def moved(self, folder: str, copy: str) -> "Exclusion":
        """The same for a copy of a folder."""
        others = self.others.moved(folder, copy) if self.others else None
        root = os.path.normpath(Path(copy, os.path.relpath(self.root, folder)))
        return replace(self, root=root, others=others)

    def has(self, path: str | Path) -> bool:
        """Whether a path is left out, or is below one that is."""
        if self.others and self.others.has(path):
            return True
        if not self.patterns:
            return False
        below = os.path.relpath(path, self.root)
        if below == os.curdir:
            return False
        return _spec(self.patterns).match_file(f"{below}/" if Path(path).is_dir() else below)


@lru_cache
def _spec(patterns: tuple[str, ...]) -> "GitIgnoreSpec":
    from pathspec import GitIgnoreSpec  # noqa: PLC0415  it takes 40 ms, and few checks exclude

    return GitIgnoreSpec.from_lines(patterns)
