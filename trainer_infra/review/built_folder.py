"""A folder -> its objects: what kustomize builds and helm renders there, and all else as it is written."""

import os
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from trainer_infra.review import chart_folder, kustomize, source_objects
from trainer_infra.review.documents import Document
from trainer_infra.review.folder_tree import FolderTree
from trainer_infra.review.inventory import SourceFile, Use
from trainer_infra.review.kustomize import Uses
from trainer_infra.review.source_objects import SourceObjects, SourceScope

_UNUSED: Final = (
    "of a Component that no kustomization here uses: what its patches make was not judged"
)


@dataclass(slots=True)
class _FileRoles:
    """Files that are not data, by whole paths without links."""

    built: dict[str, tuple[Use, str]] = field(default_factory=dict)
    """What is not read by itself."""
    used: dict[str, str] = field(default_factory=dict)
    """What is read by itself, and is otherwise a part of something: of what."""
    charts: dict[str, str] = field(default_factory=dict)
    """Charts that a kustomization has rendered, and which one."""

    def of(self, file: Path) -> SourceFile | None:
        """A file that is not read by itself; None for another one."""
        known = self.built.get(os.path.realpath(file)) if self.built else None
        return SourceFile(os.fspath(file), *known) if known else None

    def placed(self, found: SourceObjects) -> SourceObjects:
        """Files that are data, but are used as a part of something."""
        if not self.used:
            return found
        return replace(found, files=tuple(map(self._placed, found.files)))

    def _placed(self, file: SourceFile) -> SourceFile:
        is_plain = file.use == Use.DATA and not file.why
        by = self.used.get(os.path.realpath(file.path)) if is_plain else None
        return file if by is None else replace(file, use=Use.BUILT, why=by)


def read_folder(folder: Path, wanted: SourceScope) -> SourceObjects:
    """The objects of a folder and those below it."""
    tree, taken = FolderTree.of(folder, wanted.exclusion), _FileRoles()
    built = _kustomizations(folder, tree.kustomizations, taken)
    plain = source_objects.joined_sources(_plain(each, taken) for each in tree.files)
    rendered: tuple[SourceObjects, ...] = ()
    if tree.charts:
        there = _documents((plain, *built))
        values = [Path(each.path) for each in plain.files if each.use == Use.DATA]
        rendered, used = chart_folder.read_charts(tree.charts, there, values, wanted, taken.charts)
        taken.used |= used
    others = (taken.of(each) or SourceFile(os.fspath(each), Use.DATA) for each in tree.others)
    left = SourceObjects((), tuple(tree.problems), (*others, *tree.left))
    return taken.placed(source_objects.joined_sources((plain, *rendered, *built, left)))


def _plain(file: Path, taken: _FileRoles) -> SourceObjects:
    known = taken.of(file)
    return SourceObjects(files=(known,)) if known else source_objects.read_file(file)


def _documents(parts: Iterable[SourceObjects]) -> tuple[Document, ...]:
    return tuple(each for part in parts for each in part.documents)


def _kustomizations(
    folder: Path, found: Iterable[Path], taken: _FileRoles
) -> tuple[SourceObjects, ...]:
    """What is built by itself; what becomes of the files that it is built from is noted."""
    uses = {each: kustomize.used_files(each) for each in found}
    known = {os.path.realpath(each): own for each, own in uses.items()}
    below = {inner for each in uses.values() for inner in each.folders}
    roots = [
        each
        for each, own in uses.items()
        if each == folder or not (own.is_component or os.path.realpath(each) in below)
    ]
    reached = kustomize.used_kustomizations(roots, known)
    left = [each for each in uses if os.path.realpath(each) not in reached]
    # Others of these build upon each other, in a circle: kustomize says so.
    roots += [each for each in left if not uses[each].is_component]
    made = {each: source_objects.made(each, kustomize.read_kustomization) for each in roots}
    for each in sorted(roots, key=lambda each: bool(made[each].problems)):
        state = (Use.UNREAD if made[each].problems else Use.BUILT, str(each))
        for own in kustomize.used_kustomizations([each], known | reached).values():
            _note(own, state, taken)
    reached = kustomize.used_kustomizations(roots, known | reached)
    for each in (each for each in uses if os.path.realpath(each) not in reached):
        for file in uses[each].configuration:
            taken.built.setdefault(file, (Use.PASSED_OVER, _UNUSED))
    foreign = (SourceObjects(kustomize.foreign_documents(each)) for each in uses)
    return (*made.values(), *foreign)


def _note(own: Uses, state: tuple[Use, str], taken: _FileRoles) -> None:
    for file in own.files:
        taken.built.setdefault(file, state)
    if state[0] == Use.BUILT:
        taken.used |= dict.fromkeys(own.data, state[1])
        taken.charts |= dict.fromkeys(own.charts, state[1])
