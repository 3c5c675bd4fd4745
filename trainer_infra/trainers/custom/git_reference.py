"""`git+https://HOST/ORG/REPO.git@REV#PATH` as `train`: code of a git repository, at one commit.

PATH is what a local path is (`files`), below the root of the repository; its files are packed as
those of a folder are, so that a commit which changes none of them trains nothing again.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.trainers.code import shown_path
from trainer_infra.trainers.custom import files, git_tree
from trainer_infra.trainers.custom.source import CodeSource

PREFIX: Final = "git+"
FORM: Final = (
    "git+https://HOST/ORG/REPO.git@REVISION#PATH, in which PATH is one of train.py, folder:main.py, "
    "train.py:function and folder:package.module:function"
)
_URL: Final = re.compile(r"(https|ssh|file)://([^/?#]*)(/[^?#]*)(\?[^#]*)?(?:#(.*))?", re.DOTALL)
_NO_REVISION: Final = re.compile(r"[\s\x00-\x1f~^:?*\[\\]|\.\.|^-|^$")
_LFS: Final = "version https://git-lfs.github.com/spec/"


@dataclass(frozen=True, slots=True)
class GitReference:
    """Which code of which repository."""

    url: str
    """Of the repository, as git takes it."""
    revision: str
    """Branch, tag or commit; empty for the default branch."""
    path: str
    """What a local path is."""

    @property
    def shown(self) -> str:
        """As messages say it, without the path."""
        return f"{PREFIX}{self.url}{f'@{self.revision}' if self.revision else ''}"


def read_reference(train: str, *, stores: bool = False) -> CodeSource:
    """What a reference means, as `files.read_path` of a path; runs git (`git_tree`).

    Raises:
        InvalidInput: It is none, git cannot fetch it, or what is there cannot travel; its places are as the
            user wrote them, not those of the cache.
    """
    reference = parse_reference(train)
    commit, root = git_tree.fetched_tree(reference.url, reference.revision, reference.shown)
    try:
        found = files.read_path(reference.path, root, stores=stores)
    except InvalidInput as error:
        raise InvalidInput(_placed(each, reference, root) for each in error.problems) from None
    problems = (*found.problems, *_not_fetched(found))
    return replace(
        found,
        where=_shown(found.where, reference, root),
        problems=tuple(_placed(each, reference, root) for each in problems),
        origin=f"{PREFIX}{reference.url}@{commit}#{reference.path}",
    )


def parse_reference(train: str) -> GitReference:
    """A reference taken apart.

    Raises:
        InvalidInput: It is none, or has a password in it, which would be in the state.
    """
    matched = _URL.fullmatch(train.removeprefix(PREFIX))
    if matched is None:
        # It may hold a password all the same.
        what, got = "is not a git reference", None if "@" in train else train
        raise InvalidInput([Problem("train", what, got=got, fix=f"write {FORM}")])
    scheme, authority, rest, query, path = matched.groups()
    user, at, _ = authority.rpartition("@")
    if query or (at and (scheme != "ssh" or ":" in user)):
        what = "has a user, a password or a query in its URL, which everybody who may read the state would see"
        fix = "leave it out: git asks its credential helper, or reads ~/.netrc"
        raise InvalidInput([Problem("train", what, fix=fix)])
    place, revision = rest.rsplit("@", 1) if "@" in rest else (rest, "")
    reference = GitReference(f"{scheme}://{authority}{place}", revision, path or "")
    if problems := tuple(_problems(reference, train, has_revision="@" in rest)):
        raise InvalidInput(problems)
    return reference


def _problems(reference: GitReference, train: str, *, has_revision: bool) -> Iterator[Problem]:
    if not reference.path:
        fix = f'say what to run in it: "{train.rstrip("#")}#train.py"'
        yield Problem("train", "names nothing in the repository", got=train, fix=fix)
    head = reference.path.partition(":")[0]
    if head.startswith("/") or ".." in head.split("/"):
        fix = "paths are relative to the root of the repository"
        yield Problem("train", "leads out of the repository", got=reference.path, fix=fix)
    if has_revision and _NO_REVISION.search(reference.revision):
        fix = "write a branch, a tag, or the 40 digits of a commit"
        yield Problem("train", "has an invalid revision", got=reference.revision, fix=fix)


def _not_fetched(found: CodeSource) -> Iterator[Problem]:
    """Files that stand for what git keeps elsewhere."""
    for path, text in found.files.items():
        if text == git_tree.SUBMODULE_TEXT:
            folder = path.removesuffix(f"/{git_tree.SUBMODULE_FILE}")
            what = "is a submodule, which is not fetched"
            fix = "name it in .trainerignore, or copy its files"
            yield Problem("train", what, got=folder, fix=fix, where=found.where)
        elif text.startswith(_LFS):
            what = "is a pointer of Git LFS, whose file is not fetched"
            fix = "name it in .trainerignore, and download it in the job"
            yield Problem("train", what, got=path, fix=fix, where=found.where)


def _placed(problem: Problem, reference: GitReference, root: Path) -> Problem:
    what, fix, where = (
        _shown(each, reference, root) for each in (problem.what, problem.fix, problem.where)
    )
    got = _shown(problem.got, reference, root) if isinstance(problem.got, str) else problem.got
    return replace(problem, what=what, got=got, fix=fix, where=where)


def _shown(text: str, reference: GitReference, root: Path) -> str:
    """A text in which places of the cache are those of the repository."""
    for here in (str(root), shown_path(root)):
        for place, shown in ((f"{here}/", "#"), (f"{here}:", "#.:"), (here, "")):
            text = text.replace(place, f"{reference.shown}{shown}")
    return text
