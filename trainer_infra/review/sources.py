"""Paths -> documents: files, folders with what tools build of them, and stdin.

The one reader of files and folders, for `check`, `render`, `run` and `migrate`. What cannot be read
is a sentence beside what could be: one broken file hides nothing. A folder that is a chart or a
kustomization is rendered or built, and so are those below a folder. What helm and kustomize make objects of
is then not read by itself; all else that stands there is, and what cannot be is named in `passed_over`.
A kustomization that another one in the folder builds upon is judged as part of that.
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
PROGRAMS: Final = (".py", ".ipynb", ".ts", ".go")
"""Files with programs, whose resources are in no file."""
_SKIPPED: Final = frozenset({"node_modules", "__pycache__"})
_UNUSED: Final = (
    "is a Component that no kustomization here uses: what its patches make was not judged"
)
_TEXT: Final = "is text for a template of its chart, and no YAML"


@dataclass(frozen=True, slots=True)
class SourceObjects:
    """What was found."""

    documents: tuple[Document, ...] = ()
    """In the order of the paths, and in each file as written."""
    problems: tuple[str, ...] = ()
    """What could not be read, a sentence each."""
    excluded: tuple[str, ...] = ()
    """Files and folders that were left out because they are excluded."""
    passed_over: tuple[str, ...] = ()
    """What no tool makes an object of and cannot be read as one, a sentence each."""


@dataclass(slots=True)
class _Folder:
    """What there is in a folder and in the folders in it."""

    exclusion: Exclusion
    files: list[Path] = field(default_factory=list)
    charts: dict[Path, list[Path]] = field(default_factory=dict)
    """Each with the files that helm may make objects of."""
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
        tuple(dict.fromkeys(each for part in whole for each in part.passed_over)),
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
            other = kept[same]
            folders = dict.fromkeys((*other.deployed_from, *each.deployed_from))
            layers = dict.fromkeys((*other.layers, *each.layers))
            kept[same] = replace(other, folders=tuple(folders), layers=tuple(layers))
    return tuple(kept)


def _read(path: str, values: Sequence[str], exclusion: Exclusion) -> SourceObjects:
    if path == STDIN:
        found = _file(STDIN)
        fixed = tuple(replace(each, is_editable=False) for each in found.documents)
        return replace(found, documents=fixed)
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
    if Path(path).suffix in PROGRAMS:
        fix = "`pulumi preview` shows and judges what a program declares"
        raise InvalidInput([Problem("", "is a program, and no manifest", fix=fix, where=name)])
    try:
        content = sys.stdin.buffer.read() if path == STDIN else Path(path).read_bytes()
        return content.decode("utf-8").removeprefix(documents.BOM), name
    except OSError as error:
        why = f"cannot be read: {error.strerror}"
    except UnicodeDecodeError as error:
        why = f"is not UTF-8 text: {error.reason}"
    raise InvalidInput([Problem("", why, where=name)])


def _folder(folder: Path, values: Sequence[str], exclusion: Exclusion) -> SourceObjects:
    from trainer_infra.review import kustomize  # noqa: PLC0415  a file does not need it

    found = _Folder(exclusion)
    _walk(folder, found)
    built, unused, taken = _kustomizations(folder, found.kustomizations)
    files = (each for each in found.files if not taken or os.path.realpath(each) not in taken)
    return joined_sources(
        (
            *(_beside(each, found.charts) for each in files),
            *(_chart(each, parts, values, exclusion) for each, parts in found.charts.items()),
            *(made_sources(each, kustomize.read_kustomization) for each in built),
            SourceObjects(
                problems=tuple(found.problems),
                excluded=tuple(found.excluded),
                passed_over=tuple(f"{each}: {_UNUSED}" for each in unused),
            ),
        )
    )


def _kustomizations(
    folder: Path, found: Iterable[Path]
) -> tuple[list[Path], list[Path], frozenset[str]]:
    """Those that are built by themselves, components that none of them uses, and files that are theirs."""
    from trainer_infra.review import kustomize  # noqa: PLC0415  a file does not need it

    uses = {each: kustomize.used_files(each) for each in found}
    below = {inner for each in uses.values() for inner in each.folders}
    built = [
        each
        for each, own in uses.items()
        if each == folder or not (own.is_component or os.path.realpath(each) in below)
    ]
    reached = kustomize.used_kustomizations(built)
    left = [each for each in uses if os.path.realpath(each) not in reached]
    # Others of these build upon each other, in a circle: kustomize says so.
    circles = [each for each in left if not uses[each].is_component]
    unused = [each for each in left if uses[each].is_component]
    reached |= kustomize.used_kustomizations(circles)
    taken = {file for each in reached.values() for file in each.files}
    taken |= {file for each in unused for file in uses[each].configuration}
    return [*built, *circles], unused, frozenset(taken)


def _chart(
    chart: Path, parts: Iterable[Path], values: Sequence[str], exclusion: Exclusion
) -> SourceObjects:
    """What helm renders, and the files of it that render to nothing and can be read as they are."""
    from trainer_infra.review import helm  # noqa: PLC0415  a folder without charts does not need it

    rendered = SourceObjects()
    if not helm.is_library(chart):
        made = made_sources(chart, lambda folder: helm.read_chart(folder, values))
        rendered = _without(made, exclusion)
    known = {os.path.normpath(each.file) for each in rendered.documents}
    left = [each for each in parts if os.path.normpath(each) not in known]
    plain = [each for each in left if not helm.is_template(each)]
    empty = ", ".join(str(each.relative_to(chart)) for each in left if each not in plain)
    if empty and not rendered.problems:
        said = f"{chart}: helm renders no object of {empty} with these values"
        rendered = replace(rendered, passed_over=(said,))
    return joined_sources((rendered, *map(_file, plain)))


def _beside(file: Path, charts: Iterable[Path]) -> SourceObjects:
    """A file; in a chart it may be text for a template, which is not YAML."""
    from trainer_infra.review import helm  # noqa: PLC0415  the same

    found = _file(file)
    is_in_chart = any(file.is_relative_to(each) for each in charts)
    if found.problems and is_in_chart and helm.is_template(file):
        return SourceObjects(passed_over=(f"{file}: {_TEXT}",))
    return found


def _walk(folder: Path, found: _Folder, chart: Path | None = None) -> None:
    """Note what is in a folder, which may be part of a chart; what is hidden is passed over."""
    from trainer_infra.review import helm, kustomize  # noqa: PLC0415  the same

    real = os.path.realpath(folder)
    if real in found.seen:
        return
    found.seen.add(real)
    if chart is None and helm.is_one(folder):
        found.charts[folder] = []
    if chart is None and kustomize.is_one(folder):
        found.kustomizations.append(folder)
    try:
        inside = sorted(each for each in folder.iterdir() if not each.name.startswith("."))
        folders = [each for each in inside if each.name not in _SKIPPED and each.is_dir()]
        files = [each for each in inside if each.suffix in SUFFIXES and each.is_file()]
    except OSError as error:
        found.problems.append(f"{folder}: cannot be read: {error.strerror}")
        return
    found.excluded += (str(each) for each in (*files, *folders) if found.exclusion.has(each))
    to = found.files if chart is None else found.charts[chart]
    to += (each for each in files if not found.exclusion.has(each))
    for each in folders:
        if not found.exclusion.has(each):
            _walk(each, found, chart or helm.chart_of_part(each))


def made_sources(folder: Path, make: Callable[[Path], tuple[Document, ...]]) -> SourceObjects:
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
