"""What judges a check: configuration, pack and baseline, as they are here or at a git revision.

With `--changed-from` it is the revision's: a change does not choose what it is judged by.
"""
# ruff: noqa: PLC0415  what most checks do not need costs each of them milliseconds

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from trainer_infra.cli.policy import USUAL, CheckRequest
from trainer_infra.errors import InvalidInput, NotAvailable, Problem
from trainer_infra.review.exclusion import Exclusion
from trainer_infra.review.recurrence import Mark
from trainer_infra.review.source_objects import SourceScope
from trainer_infra.rules import configuration
from trainer_infra.rules.configuration import Configuration, ResolvedConfiguration

if TYPE_CHECKING:
    from trainer_infra.review.revision import Span

NOT_THERE: Final = "cannot be read: No such file or directory"
_REPOSITORY: Final = ".git"
"""What a repository's folder has."""


class Files(Protocol):
    """Where the files of a policy are read."""

    def read(self, path: str) -> bytes | None:
        """What a file holds; None where it is not there."""
        ...

    def folder(self, path: str) -> str:
        """A folder with what that folder has."""
        ...


@dataclass(frozen=True, slots=True)
class FilesHere:
    """The files as they are now."""

    def read(self, path: str) -> bytes | None:
        """What a file holds.

        Raises:
            InvalidInput: It cannot be read.
        """
        try:
            return Path(path).read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            what = f"cannot be read: {error.strerror}"
            raise InvalidInput([Problem("", what, where=path)]) from None

    def folder(self, path: str) -> str:
        """The folder itself."""
        return path


@dataclass(frozen=True, slots=True)
class FilesThere:
    """The files as a branch found them; what is not in its repository, such as the platform's, is as it is."""

    span: "Span"
    """The change."""
    scratch: Path
    """A folder of ours for copies."""
    _trees: dict[str, str] = field(default_factory=dict, init=False, repr=False)

    def read(self, path: str) -> bytes | None:
        """What a file holds."""
        from trainer_infra.review import revision

        place = self._place(path)
        return revision.content(*place) if place else FilesHere().read(path)

    def folder(self, path: str) -> str:
        """A copy of the folder; the folder itself where the revision does not have it."""
        from trainer_infra.review import revision

        place = self._place(path)
        if place is None:
            return path
        revision.write_folder(*place, self.scratch)
        copy = self.scratch / place[-1]
        return str(copy) if copy.is_dir() else path

    def _place(self, path: str) -> tuple[str, str, str] | None:
        """Repository, tree and path there; None where it is not in the repository of the check."""
        from trainer_infra.review import revision

        try:
            ((repository, own),) = revision.by_repository([path]).items()
            is_ours = repository in revision.by_repository([os.curdir])
        except NotAvailable:
            return None
        if not is_ours:
            return None
        if repository not in self._trees:
            self._trees[repository] = revision.base_tree(repository, self.span)
        return repository, self._trees[repository], own[path]


@dataclass(frozen=True, slots=True)
class Judge:
    """What a check is judged by."""

    settled: ResolvedConfiguration
    exclusion: Exclusion
    """What is left out."""
    known: tuple[Mark, ...] = ()
    """Findings of the baseline."""
    file: str = ""
    """The configuration; empty where there is none."""

    def scope(self, values: Sequence[str]) -> SourceScope:
        """What is read, with files of values for charts."""
        return SourceScope(tuple(values), self.exclusion, self.settled.charts)


def judge_of(asked: CheckRequest, files: Files) -> Judge:
    """The judge that a request names, read where its files are.

    Raises:
        InvalidInput: Configuration, pack or baseline cannot be used; has every problem.
        NotAvailable: There is no such revision.
    """
    file, text = _configuration(asked, files)
    found, pack = Configuration(), None
    is_here = isinstance(files, FilesHere)
    if file and (is_here or text is not None):
        found = configuration.read_configuration(_text(file, text), file)
    if asked.pack:
        from trainer_infra.review import pack_folder

        named = files.folder(asked.pack) if Path(asked.pack).is_dir() else asked.pack
        pack = pack_folder.find_pack(named).pack
    # Patterns of a file that is named are relative to where the check runs.
    root = os.curdir if asked.config else str(Path(file).parent)
    settled = configuration.resolve_configuration(found, asked.environment, pack, root)
    known: tuple[Mark, ...] = ()
    listed = files.read(asked.baseline) if asked.baseline else None
    if asked.baseline and (is_here or listed is not None):
        from trainer_infra.review import baseline

        known = baseline.read_baseline(listed, asked.baseline)
    return Judge(settled, _exclusion(settled, asked), known, file)


def changed_policy(asked: CheckRequest, judges: tuple[Judge, Judge], there: Files) -> Iterator[str]:
    """Files of the judge that are others here than there, also those that are new, or gone."""
    folder = Path(asked.pack) if asked.pack else None
    modules = sorted(folder.rglob("*.py")) if folder and folder.is_dir() else []
    named = (*(each.file for each in judges), asked.config, asked.baseline, *map(str, modules))
    here = FilesHere()
    for each in dict.fromkeys(filter(None, named)):
        if here.read(each) != there.read(each):
            yield each


def path_of_folder() -> tuple[str, str]:
    """The folder of the repository that the check runs in, and where the check runs in it.

    Without a repository it is the folder of the check itself.
    """
    here = Path.cwd()
    top = next((each for each in (here, *here.parents) if (each / _REPOSITORY).exists()), here)
    return str(top), os.path.relpath(here, top)


def _configuration(asked: CheckRequest, files: Files) -> tuple[str, bytes | None]:
    """The file of the configuration and what it holds; an empty name where there is none."""
    if asked.config:
        return asked.config, files.read(asked.config)
    _, below = path_of_folder()
    depth = 0 if below == os.curdir else len(Path(below).parts)
    for steps in range(depth + 1):
        file = str(Path(*[os.pardir] * steps, USUAL))
        text = files.read(file)
        if text is not None:
            return file, text
    return "", None


def _text(file: str, text: bytes | None) -> str:
    if text is None:
        raise InvalidInput([Problem("", NOT_THERE, where=file)])
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidInput([Problem("", f"cannot be read: {error}", where=file)]) from None


def _exclusion(settled: ResolvedConfiguration, asked: CheckRequest) -> Exclusion:
    if settled.root == os.curdir:
        return Exclusion.of((*settled.exclude, *(asked.exclude or ())))
    own = Exclusion.of(settled.exclude, settled.root)
    return Exclusion(own.patterns, own.root, Exclusion.of(asked.exclude or ()))
