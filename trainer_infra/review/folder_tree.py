"""A folder -> what there is in it for a check: manifests, charts, kustomizations, and what is not read.

Links come last: what they lead to inside the folder is read where it stands.
"""

import os
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

from trainer_infra.review import helm, kustomize, source_objects
from trainer_infra.review.exclusion import Exclusion
from trainer_infra.review.inventory import SourceFile, Use

_HIDDEN: Final = "a hidden folder, which is not read"
_REPOSITORY: Final = ".git"
_OF_TOOLS: Final = "a folder of a tool, which is not read"
_SKIPPED: Final = {"node_modules": _OF_TOOLS, "__pycache__": "", _REPOSITORY: ""}
"""Folders without manifests; no reader misses what has no reason."""
_DANGLING: Final = "a link that leads nowhere"
_OUT: Final = "a link to a folder outside of what is checked"
_AGAIN: Final = "a link to what is read where it stands"
_SPECIAL: Final = "neither a file nor a folder"


class _Role(NamedTuple):
    """What helm makes of a folder."""

    name: str = ""
    """`chart`, `charts` for the folder of a chart's dependencies, `part` for one with templates."""
    chart: Path = Path()
    """The outermost chart, which helm renders."""


@dataclass(slots=True)
class FolderTree:
    """What there is in a folder and in the folders in it."""

    exclusion: Exclusion
    files: list[Path] = field(default_factory=list)
    """Those that may be manifests."""
    others: list[Path] = field(default_factory=list)
    charts: dict[Path, list[Path]] = field(default_factory=dict)
    """Each with the files that helm may make objects of."""
    kustomizations: list[Path] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    left: list[SourceFile] = field(default_factory=list)
    """What is not read, and why."""
    _seen: set[str] = field(default_factory=set)
    """Folders without links: two links may lead to each other."""
    _links: deque[tuple[Path, _Role]] = field(default_factory=deque)

    @classmethod
    def of(cls, folder: Path, exclusion: Exclusion) -> "FolderTree":
        """That of a folder."""
        tree = cls(exclusion)
        tree._walk(folder, _Role())
        top = _top(folder)
        known = {os.path.realpath(each) for each in (*tree.files, *tree.others)}
        while tree._links:
            link, role = tree._links.popleft()
            why = tree._follow(link, role, top, known)
            if why:
                tree.left.append(SourceFile(os.fspath(link), Use.PASSED_OVER, why))
        return tree

    def _walk(self, folder: Path, role: _Role) -> None:
        """Note what is in a folder."""
        self._seen.add(os.path.realpath(folder))
        if role.name in {"", "charts"} and helm.is_one(folder):
            role = _Role("chart", folder)
            self.charts[folder] = []
        if role.name != "part" and kustomize.is_one(folder):
            self.kustomizations.append(folder)
        try:
            inside = sorted(os.scandir(folder), key=lambda each: each.name)
        except OSError as error:
            self.problems.append(f"{folder}: cannot be read: {error.strerror}")
            self.left.append(SourceFile(os.fspath(folder), Use.UNREAD))
            return
        paths = {each.name: folder / each.name for each in inside}
        self._links += ((paths[each.name], role) for each in inside if each.is_symlink())
        real = [each for each in inside if not each.is_symlink()]
        for each in real:
            if not each.is_dir():
                self._add(paths[each.name], role, is_file=each.is_file())
        for each in real:
            if each.is_dir():
                self._enter(paths[each.name], role)

    def _enter(self, folder: Path, above: _Role) -> None:
        """Walk a folder, unless it is not read."""
        why = None if not self.exclusion.has(folder) else source_objects.EXCLUDED
        why = _HIDDEN if folder.name.startswith(".") else why
        why = _SKIPPED.get(folder.name, why)
        if why is not None:
            self.left.append(SourceFile(os.fspath(folder), Use.PASSED_OVER, why))
        else:
            self._walk(folder, _role(folder, above))

    def _add(self, file: Path, role: _Role, *, is_file: bool) -> None:
        if file.suffix not in source_objects.SUFFIXES:
            self.others.append(file)
        elif not is_file or self.exclusion.has(file):
            why = source_objects.EXCLUDED if is_file else _SPECIAL
            self.left.append(SourceFile(os.fspath(file), Use.PASSED_OVER, why))
        else:
            (self.charts[role.chart] if role.name == "part" else self.files).append(file)

    def _follow(self, link: Path, role: _Role, top: str, known: set[str]) -> str:
        """Read what a link leads to; why not, where that is not done."""
        real = os.path.realpath(link)
        if not link.exists():
            return _DANGLING
        if not link.is_dir():
            if real in known and role.name != "part":
                return _AGAIN
            known.add(real)
            self._add(link, role, is_file=link.is_file())
            return ""
        if real in self._seen:
            return _AGAIN
        if os.path.commonpath((real, top)) != top:
            return _OUT
        self._enter(link, role)
        return ""


def _role(folder: Path, above: _Role) -> _Role:
    """What helm makes of a folder in another one.

    Source: helm's loader. Of `charts` it takes each folder that is a chart and not a hidden one.
    """
    if above.name == "part":
        return above
    if above.name == "chart" and folder.name in helm.PARTS:
        return _Role("part", above.chart)
    if above.name == "chart" and folder.name == helm.FOLDER:
        return _Role("charts", above.chart)
    is_dependency = above.name == "charts" and not folder.name.startswith("_")
    return _Role("chart", above.chart) if is_dependency and helm.is_one(folder) else _Role()


def _top(folder: Path) -> str:
    """The folder that links may not lead out of: that of the repository, or this one where there is none."""
    real = Path(os.path.realpath(folder))
    return str(
        next((each for each in (real, *real.parents) if (each / _REPOSITORY).exists()), real)
    )
