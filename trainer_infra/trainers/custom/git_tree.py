"""The files of one commit, fetched once into the cache folder by the user's own git.

git finds credentials, proxies and SSH's settings as it does for the user, and never asks a person.
A tree is written beside its place and then renamed, so that one which is there is whole. Files are
as git stores them: no filter, line ending or hook of this machine changes them, and no attribute
leaves one out.
"""

import hashlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from threading import Lock
from typing import Final

from trainer_infra import home_folders
from trainer_infra.errors import InvalidInput, Problem

LOOKUP_SECONDS: Final = 60.0
FETCH_SECONDS: Final = 900.0
ABANDONED_SECONDS: Final = 86400.0
"""Age of what a killed fetch left, from which on the next one removes it."""
KEPT_SECONDS: Final = 10.0
"""Seconds that an answer of a server counts: the jobs of one program ask once."""
SUBMODULE_FILE: Final = "git-submodule"
SUBMODULE_TEXT: Final = "trainer_infra: a submodule of git, which is not fetched\n"
"""What stands for a submodule, so that ignore files can leave it out."""
_COMMIT: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_SETTINGS: Final = ("gc.auto=0", "maintenance.auto=false", f"core.hooksPath={os.devnull}")
_OF_A_REPOSITORY: Final = re.compile(
    "GIT_(DIR|WORK_TREE|INDEX_FILE|COMMON_DIR|NAMESPACE|PREFIX|OBJECT_DIRECTORY"
    "|ALTERNATE_OBJECT_DIRECTORIES|SHALLOW_FILE|GRAFT_FILE)"
)
"""Variables by which a hook or an alias of git names the repository it runs in."""
_ASKING: Final = Lock()
_ANSWERS: dict[tuple[str, str], tuple[float, str]] = {}
"""URL and revision -> when a server said it, and the commit."""


@dataclass(frozen=True, slots=True)
class _Git:
    """git, asked about one repository."""

    program: str
    shown: str
    """The reference, for errors."""

    def said(self, words: Sequence[str], seconds: float, remedy: str) -> str:
        """What a command answers.

        Raises:
            InvalidInput: It failed, or did not answer in time.
        """
        settings = [word for each in _SETTINGS for word in ("-c", each)]
        # In a session of its own it has no terminal to ask on, and ends with all that it started.
        process = subprocess.Popen(
            [self.program, *settings, *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self.environment(),
            start_new_session=True,
        )
        try:
            out, errors = process.communicate(timeout=seconds)
        except BaseException as error:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            if isinstance(error, subprocess.TimeoutExpired):
                what = f"git did not have it within {seconds:.0f} s"
                raise self.failure(what, "see whether the server can be reached") from None
            raise
        if process.returncode:
            said = last_line(errors.decode(errors="replace")) or f"exit code {process.returncode}"
            raise self.failure(f"git cannot fetch it: {said}", remedy)
        return out.decode(errors="surrogateescape")

    def failure(self, what: str, fix: str) -> InvalidInput:
        """The error of this reference."""
        return InvalidInput([Problem("train", what, fix=fix, where=self.shown)])

    def environment(self) -> Mapping[str, str]:
        """The user's, in which git and SSH never ask a person, and work on no repository but the one they are told."""
        own = {key: each for key, each in os.environ.items() if not _OF_A_REPOSITORY.fullmatch(key)}
        asked = [self.program, "config", "--get", "core.sshCommand"]
        ssh = (
            own.get("GIT_SSH_COMMAND")
            or subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()
        )
        chosen = {"GIT_SSH_COMMAND": f"{ssh or 'ssh'} -o BatchMode=yes"}
        return {
            # One that the user names may answer without a person; others open a window.
            "GIT_ASKPASS": "",
            **own,
            "GIT_TERMINAL_PROMPT": "0",
            "GCM_INTERACTIVE": "never",
            "SSH_ASKPASS_REQUIRE": "never",
            "LC_ALL": "C",
            **(chosen if ssh or not own.get("GIT_SSH") else {}),
        }


def fetched_tree(url: str, revision: str, shown: str) -> tuple[str, Path]:
    """The commit of a revision, and the folder with its files.

    A revision is a branch, a tag or a whole commit, which needs no server once its files are here; empty for the
    default branch. Errors show the reference.

    Raises:
        InvalidInput: There is no git or no such revision, or git cannot fetch it.
    """
    program = shutil.which("git")
    if program is None:
        what = "git is not on PATH, and a git reference needs it"
        fix = "install git, or give a path of a clone"
        raise InvalidInput([Problem("train", what, fix=fix, where=shown)])
    git = _Git(program, shown)
    repository = hashlib.sha256(url.encode()).hexdigest()[:16]
    with _ASKING:
        commit = revision if _COMMIT.fullmatch(revision) else _commit(git, url, revision)
        folder = kept_folder() / f"{repository}-{commit}"
        try:
            if not folder.is_dir():
                _fetch(git, url, commit, folder)
            # `trainer-infra gc --cache` goes by its last use; a cache that is shared may be read-only.
            with suppress(OSError):
                os.utime(folder)
        except OSError as error:
            fix = "free space there, or set TRAINER_INFRA_CACHE to another folder"
            raise git.failure(f"the cache cannot be written: {error}", fix) from None
    return commit, folder


def kept_folder() -> Path:
    """The files of commits on this machine, which can be fetched again."""
    return home_folders.cache_home() / "git"


def last_line(errors: str) -> str:
    """What git said last of what went wrong; without a user in a URL, which may be a token."""
    lines = [each.strip() for each in errors.partition("Please make sure you have")[0].splitlines()]
    lines = [each for each in lines if each] or [""]
    # SSH says why in the line before.
    count = 2 if lines[-1] == "fatal: Could not read from remote repository." else 1
    return re.sub(r"://[^/@\s]*@", "://", " ".join(lines[-count:])).rstrip(".")


def _commit(git: _Git, url: str, revision: str) -> str:
    commit: str
    said, commit = _ANSWERS.get((url, revision), (0.0, ""))
    if commit and time.monotonic() - said < KEPT_SECONDS:
        return commit
    wanted = (
        [f"refs/heads/{revision}", f"refs/tags/{revision}", f"refs/tags/{revision}^{{}}"]
        if revision and not revision.startswith("refs/")
        else [revision or "HEAD", f"{revision or 'HEAD'}^{{}}"]
    )
    remedy = "see whether `git ls-remote` of the URL works in a terminal, without a question"
    answer = git.said(["ls-remote", "--", url, *wanted], LOOKUP_SECONDS, remedy)
    pairs = (line.split("\t", 1) for line in answer.splitlines())
    there = {name: commit for commit, name in pairs}
    # A tag of its own kind is an object, with the commit under the name with `^{}`.
    found = [there[each] for each in reversed(wanted) if each in there]
    if not found:
        none = f"the repository has no branch and no tag {revision}"
        fix = "name one; a commit is written with all of its 40 digits"
        raise git.failure(none if revision else "it has no default branch", fix)
    if len(wanted) > 2 and wanted[0] in there and there[wanted[0]] != found[0]:  # noqa: PLR2004  branch and tag
        fix = f"write refs/heads/{revision} or refs/tags/{revision}"
        raise git.failure(f"{revision} is a branch and a tag of two commits", fix)
    _ANSWERS[url, revision] = (time.monotonic(), found[0])
    return found[0]


def _fetch(git: _Git, url: str, commit: str, folder: Path) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    for each in folder.parent.glob(".partial-*"):
        if time.time() - each.stat().st_mtime > ABANDONED_SECONDS:
            shutil.rmtree(each, ignore_errors=True)
    partial = Path(tempfile.mkdtemp(prefix=".partial-", dir=folder.parent))
    try:
        own = f"--git-dir={partial / 'repository'}"
        kind = "sha256" if len(commit) == len(hashlib.sha256().hexdigest()) else "sha1"
        begin = ["init", "--bare", "--quiet", "--template=", f"--object-format={kind}"]
        remedy = "see whether the cache can be written"
        git.said([*begin, str(partial / "repository")], LOOKUP_SECONDS, remedy)
        fetching = [own, "fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules"]
        remedy = "see whether the commit is there; an older server gives branches and tags only"
        git.said([*fetching, "--", url, commit], FETCH_SECONDS, remedy)
        listing = [own, "ls-tree", "-r", "-z", "--full-tree", commit]
        _write_tree(git, own, git.said(listing, FETCH_SECONDS, remedy), partial)
        try:
            (partial / "tree").rename(folder)
        except OSError:
            # Another preview was faster.
            if not folder.is_dir():
                raise
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _write_tree(git: _Git, own: str, listed: str, partial: Path) -> None:
    """Write the files, then the links, so that no file is written through a link."""
    root, links = partial / "tree", []
    root.mkdir()
    # Ignore files above the cache are none of this repository.
    (root / ".git").touch()
    entries = [each.split("\t", 1) for each in listed.split("\0") if each]
    blobs: list[tuple[str, str, str]] = []
    for description, path in entries:
        mode, kind, name = description.split(" ")
        if {"", ".", "..", ".git"} & {part.lower() for part in path.split("/")}:
            what = f"the commit has {path!r}, which is not a path of a file"
            raise git.failure(what, "remove it there")
        if kind == "commit":
            _write(root / path / SUBMODULE_FILE, SUBMODULE_TEXT.encode())
        else:
            blobs.append((mode, path, name))
    contents = _contents(git, own, [name for *_, name in blobs], partial)
    for (mode, path, _), content in zip(blobs, contents, strict=True):
        if mode == "120000":
            links.append((path, content))
        else:
            _write(root / path, content)
    for path, target in links:
        place = root / PurePosixPath(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(os.fsdecode(target))


def _write(file: Path, content: bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)


def _contents(git: _Git, own: str, names: Sequence[str], partial: Path) -> Iterator[bytes]:
    """The content of each object, one at a time."""
    asked = partial / "objects"
    asked.write_text("".join(f"{each}\n" for each in names), encoding="ascii")
    with (
        asked.open("rb") as stdin,
        subprocess.Popen(
            [git.program, own, "cat-file", "--batch"],
            stdin=stdin,
            stdout=subprocess.PIPE,
            env=git.environment(),
        ) as process,
    ):
        assert process.stdout is not None  # noqa: S101  it is a pipe
        for name in names:
            header = process.stdout.readline().split()
            if header[:2] != [name.encode(), b"blob"]:
                raise git.failure(f"git has no object {name} of it", "run it again")
            yield process.stdout.read(int(header[2]))
            process.stdout.read(1)
