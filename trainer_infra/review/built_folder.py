"""A folder -> its objects: what kustomize builds and helm renders there, and all else as it is written.

Links come last: what they lead to inside the folder is read where it stands.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from trainer_infra.review import chart_folder, file_text, helm, kustomize, source_objects
from trainer_infra.review.exclusion import Exclusion
from trainer_infra.review.inventory import Roles, SourceFile, Use
from trainer_infra.review.source_objects import SourceObjects, SourceScope

_HIDDEN: Final = "a hidden folder, which is not read"
_REPOSITORY: Final = ".git"
_OF_TOOLS: Final = "a folder of a tool, which is not read"
_SKIPPED: Final = {"node_modules": _OF_TOOLS, "__pycache__": "", _REPOSITORY: ""}
"""Folders without manifests; no reader misses what has no reason."""
_DANGLING: Final = "a link that leads nowhere"
_OUT: Final = "a link to a folder outside of what is checked"
_AGAIN: Final = "a link to what is read where it stands"
_SPECIAL: Final = "neither a file nor a folder"
_PACKED: Final = "an archive, perhaps a packed chart, which is not read"
_PLAIN: Final = ("", file_text.INSIDE, file_text.NOT_NAMED)
"""Of data, what is no reason where it is a part of something."""
_UNUSED: Final = (
    "of a Component that no kustomization here uses: what its patches make was not judged"
)


def read_folder(folder: Path, wanted: SourceScope) -> SourceObjects:
    """The objects of a folder and those below it."""
    tree = _FolderTree(wanted.exclusion)
    tree.fill(folder)
    roles: Roles = {}
    built = _kustomizations(folder, tree.kustomizations, roles)
    plain = [_plain(each, roles) for each in tree.files]
    rendered: Sequence[SourceObjects] = ()
    if tree.charts:
        there = tuple(each for part in (*plain, *built) for each in part.documents)
        data = [Path(f.path) for part in plain for f in part.files if f.use == Use.DATA]
        rendered = chart_folder.read_charts(tree.charts, there, data, wanted, roles)
    left = SourceObjects((), tuple(tree.problems), tuple(tree.left))
    found = source_objects.joined_sources((*plain, *rendered, *built, left))
    return replace(found, files=tuple(_placed(each, roles) for each in found.files))


def _plain(file: Path, roles: Roles) -> SourceObjects:
    """A file that is read by itself, unless something is built from it."""
    use, by = (roles.get(os.path.realpath(file)) if roles else None) or (Use.DATA, "")
    if use == Use.DATA:
        return source_objects.read_file(file)
    return SourceObjects(files=(SourceFile(os.fspath(file), use, by),))


def _placed(file: SourceFile, roles: Roles) -> SourceFile:
    """A file without an object, which may be a part of something."""
    if not roles or file.use != Use.DATA or file.why not in _PLAIN:
        return file
    use, by = roles.get(os.path.realpath(file.path), (Use.DATA, ""))
    if not by:
        return file
    return replace(file, use=Use.BUILT if use == Use.DATA else use, why=by)


def _kustomizations(folder: Path, found: Sequence[Path], roles: Roles) -> tuple[SourceObjects, ...]:
    """What is built by itself; what becomes of the files that it is built from is noted."""
    read = cache(kustomize.used_files)
    names = {os.path.realpath(each): each for each in found}
    parts = {each for each in names if read(each).is_component}
    below = {inner for each in names for inner in read(each).folders}
    roots = [each for each in names if names[each] == folder or each not in parts | below]
    reached = kustomize.used_kustomizations(roots, read)
    # Others of these build upon each other, in a circle: kustomize says so.
    roots += [each for each in names if each not in reached and each not in parts]
    made = {each: source_objects.made(names[each], kustomize.read_kustomization) for each in roots}
    good_first = sorted(roots, key=lambda each: bool(made[each].problems))
    used = [
        (each, uses)
        for each in good_first
        for uses in kustomize.used_kustomizations([each], read).values()
    ]
    for root, uses in used:
        state = (Use.UNREAD if made[root].problems else Use.BUILT, str(names[root]))
        roles.update((file, state) for file in uses.files if file not in roles)
    for root, uses in used:
        for each in (*uses.data, *uses.charts) if not made[root].problems else ():
            roles.setdefault(each, (Use.DATA, str(names[root])))
    reached = kustomize.used_kustomizations(roots, read)
    for file in (
        file for each in names if each not in reached for file in read(each).configuration
    ):
        roles.setdefault(file, (Use.PASSED_OVER, _UNUSED))
    foreign = (SourceObjects(kustomize.foreign_documents(each)) for each in found)
    return (*made.values(), *foreign)


class _Role(NamedTuple):
    """What helm makes of a folder."""

    name: str = ""
    """`chart`, `charts` for the folder of a chart's dependencies, `part` for one with templates."""
    chart: Path = Path()
    """The outermost chart, which helm renders."""


@dataclass(slots=True)
class _FolderTree:
    """What there is in a folder and in the folders in it."""

    exclusion: Exclusion
    files: list[Path] = field(default_factory=list)
    """Those that may be manifests."""
    charts: dict[Path, list[Path]] = field(default_factory=dict)
    """Each with the files that helm may make objects of."""
    kustomizations: list[Path] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    left: list[SourceFile] = field(default_factory=list)
    """What is not read, and why."""
    _seen: set[str] = field(default_factory=set)
    """Files and folders without links: two links may lead to each other."""
    _links: list[tuple[Path, _Role]] = field(default_factory=list)

    def fill(self, folder: Path) -> None:
        """Note all that is in a folder."""
        self._walk(folder, _Role())
        top = _top(folder)
        # What a link leads to may have links.
        for link, role in self._links:
            why = self._follow(link, role, top)
            if why:
                self.left.append(SourceFile(os.fspath(link), Use.PASSED_OVER, why))

    def _walk(self, folder: Path, role: _Role) -> None:
        real = os.path.realpath(folder)
        self._seen.add(real)
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
        folders = []
        for each in inside:
            path = folder / each.name
            if each.is_symlink():
                self._links.append((path, role))
            elif each.is_dir():
                folders.append(path)
            else:
                self._seen.add(f"{real}{os.sep}{each.name}")
                self._add(path, role, is_file=each.is_file())
        for path in folders:
            self._enter(path, role)

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
        is_part, why = role.name == "part", ""
        if not is_part and not file_text.is_manifest(file.name):
            if file_text.may_have_object(file.name) and is_file and not self.exclusion.has(file):
                self.left.append(source_objects.read_other(file))
                return
            # Helm reads one that stands in the folder of a chart's dependencies.
            why = _PACKED if file.suffix == ".tgz" and role.name != "charts" else ""
        elif not is_file or self.exclusion.has(file):
            why = source_objects.EXCLUDED if is_file else _SPECIAL
        else:
            (self.charts[role.chart] if is_part else self.files).append(file)
            return
        use = Use.PASSED_OVER if why else Use.DATA
        self.left.append(SourceFile(os.fspath(file), use, why))

    def _follow(self, link: Path, role: _Role, top: str) -> str:
        """Read what a link leads to; why not, where that is not done."""
        real, is_folder = os.path.realpath(link), link.is_dir()
        if not link.exists():
            return _DANGLING
        if real in self._seen and (is_folder or role.name != "part"):
            return _AGAIN
        if is_folder and os.path.commonpath((real, top)) != top:
            return _OUT
        if is_folder:
            self._enter(link, role)
        else:
            self._seen.add(real)
            self._add(link, role, is_file=link.is_file())
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
