"""Trees of a git repository: what a revision or the index has, read without a checkout.

Used by `changed_files`, which compares what is in them with what there is now.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from trainer_infra.errors import NotAvailable
from trainer_infra.review import file_text, subprocess_tool

_LARGE: Final = 1 << 20
"""Bytes of a file from which on it is not a part of a chart, manifests apart."""
_FILE: Final = b"1"
"""How git's mode of files begins."""
_LINK: Final = b"120000"
_SUBMODULE: Final = b"160000"
INDEX: Final = ":"
"""Stands for the index: what is staged."""
HEAD: Final = "HEAD"


EMPTY: Final = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
"""The tree without files, which git knows in every repository."""


@dataclass(frozen=True, slots=True)
class Span:
    """A change: what there is, beside what there was where its branch began."""

    ref: str
    """A commit, a branch or a tag that the branch was taken from."""
    tip: str = HEAD
    """The newest commit of the branch."""
    now: str | None = None
    """The revision that has what there is, or the index; None for the files as they are."""


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


def by_repository(paths: Sequence[str]) -> dict[str, dict[str, str]]:
    """The folders of repositories: each path, and where that is in the repository.

    Raises:
        NotAvailable: There is no git, or no repository; one sentence.
    """
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


def tree_of(repository: str, ref: str) -> str:
    """The id of a revision's tree, or of the index.

    Raises:
        NotAvailable: There is no such revision.
    """
    if ref == INDEX:
        return _git(repository, "write-tree").decode().strip()
    found = _verified(repository, f"{ref}^{{tree}}")
    if found is None:
        raise NotAvailable(
            f"{ref!r} is not a revision of the git repository; "
            "fetch it first (CI often has one commit alone), or name another one"
        )
    return found


def has_head(repository: str) -> bool:
    """Whether there is a commit as yet."""
    return _verified(repository, HEAD) is not None


def base_tree(repository: str, span: Span) -> str:
    """The tree from which a branch was taken: of the newest commit that it shares with a revision.

    What the revision has got since is no change of the branch.

    Raises:
        NotAvailable: There is no such revision, or they have no commit in common.
    """
    ref, tip = span.ref, span.tip
    tree = tree_of(repository, ref)
    own, other = (_verified(repository, f"{each}^{{commit}}") for each in (tip, ref))
    if own is None or other is None:
        # There is no commit as yet, or the revision is a tree by itself.
        return tree
    try:
        shared = _git(repository, "merge-base", other, own).decode().strip()
    except NotAvailable:
        said = f"{ref!r} and {tip} have no commit in common"
        if _git(repository, "rev-parse", "--is-shallow-repository").strip() != b"true":
            raise NotAvailable(f"{said}; name the revision that the branch is from") from None
        raise NotAvailable(
            f"{said} in this clone, which has only the newest commits; fetch the others: "
            "`git fetch --unshallow`, in a workflow of GitHub `fetch-depth: 0`, in GitLab "
            '`GIT_DEPTH: "0"`'
        ) from None
    return tree_of(repository, shared)


def content(repository: str, tree: str, path: str) -> bytes | None:
    """What a file of a tree holds, or the file that it is a link to; None where it has no such file."""
    name = f"{tree}:{path}\n".encode("utf-8", "surrogateescape")
    found = _git(repository, "cat-file", "--batch", "--follow-symlinks", given=name)
    header, _, text = found.partition(b"\n")
    _, *kind = header.split()
    return text[: int(kind[1])] if kind[:1] == [b"blob"] and len(kind) > 1 else None


def changed_paths(repository: str, before: str, after: str | None = None) -> frozenset[str]:
    """Files that differ between a tree and another one, else what is in the work tree."""
    trees = (before,) if after is None else (before, after)
    found = _git(repository, "diff", "--name-only", "--no-renames", "-z", *trees, "--")
    if after is None:
        found += _git(repository, "ls-files", "--others", "--exclude-standard", "-z")
    return frozenset(map(os.fsdecode, filter(None, found.split(b"\0"))))


def write_manifests(repository: str, tree: str, paths: Iterable[str], folder: Path) -> None:
    """Write the files that matter of a tree into a folder.

    Dependencies of charts that helm has fetched, which git does not have, are those that are there now.
    """
    blobs = tuple(_needed(tuple(_blobs(repository, tree)), tuple(paths)))
    _write(repository, blobs, folder)
    from trainer_infra.review import helm  # noqa: PLC0415  others do not need it

    for each in blobs:
        chart = Path(each.path).parent
        fetched = Path(repository, chart, helm.FOLDER)
        there = folder / chart / helm.FOLDER
        if Path(each.path).name == helm.NAME and fetched.is_dir() and not there.exists():
            there.symlink_to(fetched)


def write_folder(repository: str, tree: str, path: str, folder: Path) -> None:
    """Write all files below a path of a tree into a folder."""
    blobs = (each for each in _blobs(repository, tree) if each.path.startswith(f"{path}/"))
    _write(repository, tuple(blobs), folder)


def _write(repository: str, blobs: Sequence[_Blob], folder: Path) -> None:
    ids = b"".join(each.id + b"\n" for each in blobs)
    text = memoryview(_git(repository, "cat-file", "--batch", given=ids) if blobs else b"")
    start = 0
    for each in blobs:
        # A line with the size, the content, and the end of that line.
        start += len(each.id) + len(f" blob {each.size}\n")
        content, start = bytes(text[start : start + each.size]), start + each.size + 1
        file = folder / each.path
        file.parent.mkdir(parents=True, exist_ok=True)
        if each.is_link:
            file.symlink_to(os.fsdecode(content))
        else:
            file.write_bytes(content)


def _blobs(repository: str, tree: str) -> Iterator[_Blob]:
    listed = _git(repository, "ls-tree", "-r", "-l", "-z", "--full-tree", tree)
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
    return file_text.is_manifest(blob.path)


def _verified(repository: str, name: str) -> str | None:
    """The id of what a name stands for; None for nothing."""
    try:
        command = ("rev-parse", "--verify", "--quiet", "--end-of-options", name)
        return _git(repository, *command).decode().strip()
    except subprocess_tool.ToolFailure:
        return None


def _git(folder: str, *arguments: str, given: bytes = b"") -> bytes:
    git = subprocess_tool.find_tool("git")
    if git is None:
        raise NotAvailable("`git` is needed to know what has changed, and is not on PATH")
    return subprocess_tool.tool_output([git, "-C", folder, *arguments], given)
