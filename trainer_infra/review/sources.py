"""Paths -> documents: files, folders with what tools build of them, and stdin.

The one reader of files and folders, for `check`, `render`, `run` and `migrate`. What cannot be read
is a sentence beside what could be: one broken file hides nothing. A folder that is a chart or a
kustomization is rendered or built, and so are those below a folder; what they read is then not read
by itself. A kustomization that another one in the folder builds upon is judged as part of that.
"""

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from trainer_infra.api import yaml_source
from trainer_infra.errors import InvalidInput, NotAvailable, Problem
from trainer_infra.review import documents
from trainer_infra.review.documents import Document
from trainer_infra.review.exclusion import Exclusion

NOTHING: Final = Exclusion()
"""Leaves out nothing."""
SUFFIXES: Final = (".yaml", ".yml", ".json")
STDIN: Final = "-"
_SKIPPED: Final = frozenset({"node_modules", "__pycache__"})


@dataclass(frozen=True, slots=True)
class SourceObjects:
    """What was found."""

    documents: tuple[Document, ...] = ()
    """In the order of the paths, and in each file as written."""
    problems: tuple[str, ...] = ()
    """What could not be read, a sentence each."""
    excluded: tuple[str, ...] = ()
    """Files and folders that were left out because they are excluded."""


@dataclass(slots=True)
class _Folder:
    """What there is in a folder and in the folders in it."""

    exclusion: Exclusion
    files: list[Path] = field(default_factory=list)
    charts: list[Path] = field(default_factory=list)
    kustomizations: list[Path] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    excluded: list[str] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)
    """Folders without links: two links may lead to each other."""


def read_sources(
    paths: Sequence[str], values: Sequence[str] = (), exclusion: Exclusion = NOTHING
) -> SourceObjects:
    """The objects below all paths, each once.

    Args:
        paths: files and folders; `-` for stdin.
        values: files of values for charts, the last one wins.
        exclusion: what is left out; what is built from other files may still read it.
    """
    return joined_sources(_read(each, values, exclusion) for each in paths)


def joined_sources(parts: Iterable[SourceObjects]) -> SourceObjects:
    """All of them as one; what several have is there once."""
    whole = tuple(parts)
    if len(whole) == 1:
        return whole[0]
    return SourceObjects(
        _once(each for part in whole for each in part.documents),
        tuple(dict.fromkeys(each for part in whole for each in part.problems)),
        tuple(dict.fromkeys(each for part in whole for each in part.excluded)),
    )


def _once(found: Iterable[Document]) -> tuple[Document, ...]:
    """Each once, with all folders that it is deployed from."""
    kept: list[Document] = []
    seen: dict[tuple[str, tuple[int, int], tuple[str, ...]], list[int]] = {}
    for each in found:
        # What two overlays say alike in files of their own has two places.
        texts = tuple(part.text.file for part in each.parts)
        others = seen.setdefault((each.file, each.place(each.start), texts), [])
        same = next((index for index in others if kept[index].value == each.value), None)
        if same is None:
            others.append(len(kept))
            kept.append(each)
        elif each.deployed_from != kept[same].deployed_from:
            folders = dict.fromkeys((*kept[same].deployed_from, *each.deployed_from))
            kept[same] = replace(kept[same], folders=tuple(folders))
    return tuple(kept)


def _read(path: str, values: Sequence[str], exclusion: Exclusion) -> SourceObjects:
    if path == STDIN:
        found = _file(STDIN)
        return replace(
            found, documents=tuple(replace(e, is_editable=False) for e in found.documents)
        )
    where = Path(path)
    if not where.exists():
        return SourceObjects(problems=(f"{path}: is not there",))
    if exclusion.has(path):
        return SourceObjects(excluded=(os.path.normpath(path),))
    return _folder(where, values, exclusion) if where.is_dir() else _file(where)


def text_of(path: str) -> tuple[str, str]:
    """The text of a file, or of stdin where the path is `-`, and what problems call it.

    Raises:
        InvalidInput: It cannot be read.
    """
    name = "stdin" if path == STDIN else path
    try:
        content = sys.stdin.buffer.read() if path == STDIN else Path(path).read_bytes()
        return content.decode("utf-8").removeprefix(documents.BOM), name
    except OSError as error:
        why = f"cannot be read: {error.strerror}"
    except UnicodeDecodeError as error:
        why = f"is not UTF-8 text: {error.reason}"
    raise InvalidInput([Problem("", why, where=name)])


def _folder(folder: Path, values: Sequence[str], exclusion: Exclusion) -> SourceObjects:
    from trainer_infra.review import helm, kustomize  # noqa: PLC0415  a file needs neither

    found = _Folder(exclusion)
    _walk(folder, found)
    uses = {each: kustomize.used_files(each) for each in found.kustomizations}
    taken = {file for each in uses.values() for file in each.files}
    below = {folder for each in uses.values() for folder in each.folders}
    on_top = (
        each
        for each, used in uses.items()
        if each == folder or not (used.is_component or os.path.realpath(each) in below)
    )
    charts = (each for each in found.charts if each == folder or not helm.is_library(each))
    files = (each for each in found.files if not taken or os.path.realpath(each) not in taken)
    return joined_sources(
        (
            *map(_file, files),
            *(
                _without(_made(each, lambda chart: helm.read_chart(chart, values)), exclusion)
                for each in charts
            ),
            *(_made(each, kustomize.read_kustomization) for each in on_top),
            SourceObjects(problems=tuple(found.problems), excluded=tuple(found.excluded)),
        )
    )


def _walk(folder: Path, found: _Folder) -> None:
    """Hidden files and folders are passed over."""
    from trainer_infra.review import helm, kustomize  # noqa: PLC0415  the same

    real = os.path.realpath(folder)
    if real in found.seen:
        return
    found.seen.add(real)
    if helm.is_one(folder):
        found.charts.append(folder)
        return
    if kustomize.is_one(folder):
        found.kustomizations.append(folder)
    try:
        inside = sorted(each for each in folder.iterdir() if not each.name.startswith("."))
        folders = [each for each in inside if each.name not in _SKIPPED and each.is_dir()]
        files = [each for each in inside if each.suffix in SUFFIXES and each.is_file()]
    except OSError as error:
        found.problems.append(f"{folder}: cannot be read: {error.strerror}")
        return
    found.excluded += (str(each) for each in (*files, *folders) if found.exclusion.has(each))
    found.files += (each for each in files if not found.exclusion.has(each))
    for each in folders:
        if not found.exclusion.has(each):
            _walk(each, found)


def _made(folder: Path, make: Callable[[Path], tuple[Document, ...]]) -> SourceObjects:
    """What a tool makes of a folder."""
    try:
        built = (replace(each, folders=(os.fspath(folder),)) for each in make(folder))
        return SourceObjects(tuple(built))
    except InvalidInput as error:
        return SourceObjects(problems=tuple(str(each) for each in error.problems))
    except (NotAvailable, UnicodeDecodeError) as error:
        return SourceObjects(problems=(f"{folder}: {error}",))


def _without(found: SourceObjects, exclusion: Exclusion) -> SourceObjects:
    """What a chart renders to, without the templates of it that are left out."""
    files = dict.fromkeys(each.file for each in found.documents)
    excluded = tuple(filter(exclusion.has, files))
    left = tuple(each for each in found.documents if each.file not in excluded)
    return replace(found, documents=left, excluded=excluded)


def _file(path: str | Path) -> SourceObjects:
    try:
        return of_text(*text_of(os.fspath(path)))
    except InvalidInput as error:
        return SourceObjects(problems=tuple(str(each) for each in error.problems))


def of_text(text: str, file: str) -> SourceObjects:
    """The objects of a text; what is wrong with one document keeps no other from being read."""
    whole = _of_documents(text, file)
    if not whole.problems:
        return whole
    return joined_sources(_of_documents(each, file) for each in yaml_source.documents_apart(text))


def _of_documents(text: str, file: str) -> SourceObjects:
    try:
        return SourceObjects(documents.read_documents(text, file))
    except InvalidInput as error:
        return SourceObjects(problems=tuple(str(each) for each in error.problems))
