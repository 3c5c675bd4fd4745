"""What judges a check: configuration, pack and baseline, as they are here or at a git revision.

With `--changed-from` it is the revision's: a change does not choose what it is judged by.
"""
# ruff: noqa: PLC0415  what most checks do not need costs each of them milliseconds

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from trainer_infra.cli.policy import USUAL, CheckRequest
from trainer_infra.errors import InvalidInput, NotAvailable, Problem
from trainer_infra.review.exclusion import Exclusion
from trainer_infra.review.recurrence import Mark
from trainer_infra.review.source_objects import SourceScope
from trainer_infra.rules import configuration
from trainer_infra.rules.configuration import Configuration, ResolvedConfiguration

_REPOSITORY: Final = ".git"
"""What a repository's folder has."""


@dataclass(frozen=True, slots=True)
class PolicyFiles:
    """Where the files of a policy are read: as they are, or as a tree of the repository of the check has them.

    What is not in that repository, such as the platform's, is as it is.
    """

    repository: str = ""
    tree: str = ""
    """Empty where all files are as they are."""
    scratch: Path = Path()
    """A folder of ours for copies."""

    def read(self, path: str) -> bytes | None:
        """What a file holds; None where it is not there.

        Raises:
            InvalidInput: It cannot be read.
        """
        below = self._below(path)
        if below is not None:
            from trainer_infra.review import revision

            return revision.content(self.repository, self.tree, below)
        try:
            return Path(path).read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            what = f"cannot be read: {error.strerror}"
            raise InvalidInput([Problem("", what, where=path)]) from None

    def named(self, path: str) -> bytes | None:
        """What a file that a user names holds; None where the tree does not have it.

        Raises:
            InvalidInput: It cannot be read, or is not there.
        """
        text = self.read(path)
        if text is None and not self.tree:
            what = "cannot be read: No such file or directory"
            raise InvalidInput([Problem("", what, where=path)])
        return text

    def folder(self, path: str) -> str:
        """A folder, or a copy of it as the tree has it."""
        below = self._below(path)
        if below is None:
            return path
        from trainer_infra.review import revision

        revision.write_folder(self.repository, self.tree, below, self.scratch)
        copy = self.scratch / below
        return str(copy) if copy.is_dir() else path

    def _below(self, path: str) -> str | None:
        """The path in the repository's folder; None for what is as it is."""
        if not self.tree:
            return None
        from trainer_infra.review import revision

        try:
            ((repository, own),) = revision.by_repository([path]).items()
        except NotAvailable:
            return None
        return own[path] if repository == self.repository else None


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


def judge_of(asked: CheckRequest, files: PolicyFiles) -> Judge:
    """The judge that a request names, read where its files are.

    Raises:
        InvalidInput: Configuration, pack or baseline cannot be used; has every problem.
    """
    found, pack = Configuration(), None
    known: tuple[Mark, ...] = ()
    file, text = _configuration(asked, files)
    if text is not None:
        found = configuration.read_configuration(_decoded(text, file), file)
    if asked.pack:
        from trainer_infra.review import pack_folder

        named = files.folder(asked.pack) if Path(asked.pack).is_dir() else asked.pack
        pack = pack_folder.find_pack(named).pack
    # Patterns of a file that is named are relative to where the check runs.
    root = os.curdir if asked.config else str(Path(file).parent)
    settled = configuration.resolve_configuration(found, asked.environment, pack, root)
    listed = files.named(asked.baseline) if asked.baseline else None
    if listed is not None:
        from trainer_infra.review import baseline

        known = baseline.read_baseline(listed, str(asked.baseline))
    return Judge(settled, _exclusion(settled, asked), known, file)


def path_of_folder() -> tuple[str, str]:
    """The folder of the repository that the check runs in, and where the check runs in it.

    Without a repository it is the folder of the check itself.
    """
    here = Path.cwd()
    top = next((each for each in (here, *here.parents) if (each / _REPOSITORY).exists()), here)
    return str(top), os.path.relpath(here, top)


def _configuration(asked: CheckRequest, files: PolicyFiles) -> tuple[str, bytes | None]:
    """The file of the configuration and what it holds; an empty name where there is none."""
    if asked.config:
        return asked.config, files.named(asked.config)
    _, below = path_of_folder()
    depth = 0 if below == os.curdir else len(Path(below).parts)
    for steps in range(depth + 1):
        file = str(Path(*[os.pardir] * steps, USUAL))
        text = files.read(file)
        if text is not None:
            return file, text
    return "", None


def _decoded(text: bytes, file: str) -> str:
    try:
        return text.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidInput([Problem("", f"cannot be read: {error}", where=file)]) from None


def _exclusion(settled: ResolvedConfiguration, asked: CheckRequest) -> Exclusion:
    if settled.root == os.curdir:
        return Exclusion.of((*settled.exclude, *(asked.exclude or ())))
    own = Exclusion.of(settled.exclude, settled.root)
    return Exclusion(own.patterns, own.root, Exclusion.of(asked.exclude or ()))
