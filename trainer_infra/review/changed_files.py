"""Which objects differ from a git revision: `check --changed-from REF` judges those alone.

The revision's files are written into a folder of ours and read as the ones that are there now are,
charts and kustomizations included; then objects are compared, not files, so that a renamed file, a
comment or another layout is not a change.
"""

import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from trainer_infra import names
from trainer_infra.catalog.runtime_key import RuntimeKey, runtime_key
from trainer_infra.errors import NotAvailable
from trainer_infra.review import (
    environments,
    recurrence,
    source_objects,
    source_of_built,
    sources,
    subprocess_tool,
)
from trainer_infra.review.documents import Document
from trainer_infra.review.source_objects import SourceScope
from trainer_infra.rules import tree

_LARGE: Final = 1 << 20
"""Bytes of a file from which on it is not a part of a chart, manifests apart."""
_FILE: Final = b"1"
"""How git's mode of files begins."""
_LINK: Final = b"120000"
_SUBMODULE: Final = b"160000"


@dataclass(frozen=True, slots=True)
class _Blob:
    """A file of a revision."""

    path: str
    """From the repository's folder."""
    id: bytes
    """Of its content."""
    is_link: bool
    size: int
    """Bytes."""


def objects_in_base(
    paths: Sequence[str], ref: str, wanted: SourceScope = source_objects.ALL
) -> tuple[Document, ...]:
    """The objects below the paths as a revision has them; what cannot be read there is not there.

    Args:
        paths: as for `sources.read_sources`; stdin has no revision.
        ref: a commit, a branch or a tag.
        wanted: what is read; files of values that it names are as they are now.

    Raises:
        NotAvailable: There is no git, no repository or no such revision; one sentence.
    """
    found: list[Document] = []
    named = [each for each in paths if each != source_objects.STDIN]
    for repository, own in _by_repository(named).items():
        with tempfile.TemporaryDirectory(prefix="trainer-infra-") as scratch:
            _write(repository, _tree(repository, ref), own.values(), Path(scratch))
            here = os.path.normpath(Path(scratch, os.path.relpath(Path.cwd(), repository)))
            found += _read(Path(scratch), own, wanted.moved(here))
    return tuple(found)


def changed_among(files: Sequence[str], ref: str) -> tuple[str, ...]:
    """Which of the files are not as a revision has them; what is not in it is changed."""
    changed = []
    for repository, own in _by_repository(files).items():
        before = {each.path: each.id for each in _blobs(repository, _tree(repository, ref))}
        for file, inside in own.items():
            now = _git(repository, "hash-object", "--stdin", given=Path(file).read_bytes()).strip()
            if before.get(inside) != now:
                changed.append(file)
    return tuple(changed)


def is_judged(now: Sequence[Document], then: Iterable[Document]) -> dict[int, bool]:
    """Positions of the objects, and whether they differ from those of the revision.

    A TrainJob differs also when the runtime does that it refers to; a copy in another folder is new.
    """
    before = tuple(then)
    marks = [[(_said(each), folder) for folder in each.deployed_from] for each in now]
    was_there = iter(
        recurrence.recurrences(
            [mark for each in marks for mark in each],
            [(_said(each), folder) for each in before for folder in each.deployed_from],
        )
    )
    runtimes_before, runtimes_now = _runtimes(before), _runtimes(now)
    found = {}
    for index, document in enumerate(now):
        known = [next(was_there) for _ in marks[index]]
        runs_on = tree.runtime_reference(document.value)
        is_same = runs_on is None or runtimes_before.get(runs_on) == runtimes_now.get(runs_on)
        found[index] = not all(known) or not is_same
    return found


def _runtimes(found: Iterable[Document]) -> dict[RuntimeKey, set[str]]:
    """What there is of each runtime: several environments may have one of its name."""
    said: dict[RuntimeKey, set[str]] = {}
    for each in found:
        _, kind, namespace, name = environments.object_key(each.value)
        if kind in names.RUNTIMES:
            said.setdefault(runtime_key(kind, namespace, name), set()).add(_said(each))
    return said


def _said(document: Document) -> str:
    """What is compared: the object, and what is wrong with its YAML."""
    return source_of_built.canonical_json([document.value, *map(str, document.findings())])


def _by_repository(paths: Sequence[str]) -> dict[str, dict[str, str]]:
    """The folders of repositories: each path, and where that is in the repository."""
    found: dict[str, dict[str, str]] = {}
    for path in paths:
        real = Path(os.path.realpath(path))
        folder = next(each for each in (real, *real.parents) if each.is_dir())
        try:
            top = _git(str(folder), "rev-parse", "--show-toplevel").decode().removesuffix("\n")
        except NotAvailable as error:
            raise NotAvailable(f"{path}: cannot be compared: {error}") from None
        found.setdefault(os.path.realpath(top), {})[path] = os.path.relpath(real, top)
    return found


def _tree(repository: str, ref: str) -> str:
    """The id of a revision's tree."""
    try:
        command = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{ref}^{{tree}}")
        return _git(repository, *command).decode().strip()
    except NotAvailable:
        raise NotAvailable(
            f"{ref!r} is not a revision of the git repository; "
            "fetch it first (CI often has one commit alone), or name another one"
        ) from None


def _write(repository: str, revision: str, paths: Iterable[str], folder: Path) -> None:
    """Write the files that matter of a revision into a folder."""
    blobs = tuple(_needed(tuple(_blobs(repository, revision)), tuple(paths)))
    ids = b"".join(each.id + b"\n" for each in blobs)
    text = _git(repository, "cat-file", "--batch", given=ids) if blobs else b""
    for each in blobs:
        header, _, text = text.partition(b"\n")
        size = int(header.split()[-1])
        content, text = text[:size], text[size + 1 :]
        file = folder / each.path
        file.parent.mkdir(parents=True, exist_ok=True)
        if each.is_link:
            file.symlink_to(os.fsdecode(content))
        else:
            file.write_bytes(content)


def _blobs(repository: str, revision: str) -> Iterator[_Blob]:
    listed = _git(repository, "ls-tree", "-r", "-l", "-z", "--full-tree", revision)
    for each in listed.split(b"\0"):
        about, _, path = each.partition(b"\t")
        if about.startswith(_FILE) and not about.startswith(_SUBMODULE):
            mode, _, identity, size = about.split()
            yield _Blob(os.fsdecode(path), identity, mode == _LINK, int(size))


def _needed(blobs: Sequence[_Blob], paths: Sequence[str]) -> Iterator[_Blob]:
    """The manifests below the paths; where tools build something there, whatever that may read."""
    from trainer_infra.review import helm, kustomize  # noqa: PLC0415  others need neither

    below = [
        each
        for each in blobs
        if any(path == "." or f"{each.path}/".startswith(f"{path}/") for path in paths)
    ]
    built_from = (*kustomize.NAMES, helm.NAME)
    if any(Path(each.path).name in built_from for each in below):
        yield from (each for each in blobs if each.size < _LARGE or _is_manifest(each))
    else:
        yield from (each for each in below if each.is_link or _is_manifest(each))


def _is_manifest(blob: _Blob) -> bool:
    return blob.path.endswith(source_objects.SUFFIXES)


def _read(folder: Path, paths: Mapping[str, str], wanted: SourceScope) -> Iterator[Document]:
    """The objects, with the names that their files have for the user."""
    for path, inside in paths.items():
        there = os.path.normpath(folder / inside)
        if os.path.lexists(there):
            for each in sources.read_sources([there], wanted).documents:
                file, *folders = (
                    os.path.normpath(Path(path, os.path.relpath(place, there)))
                    for place in (each.file, *each.folders)
                )
                yield replace(each, file=file, folders=tuple(folders), is_editable=False)


def _git(folder: str, *arguments: str, given: bytes = b"") -> bytes:
    git = subprocess_tool.find_tool("git")
    if git is None:
        raise NotAvailable("`git` is needed to know what has changed, and is not on PATH")
    return subprocess_tool.tool_output([git, "-C", folder, *arguments], given)
