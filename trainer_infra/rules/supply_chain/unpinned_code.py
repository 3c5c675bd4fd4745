"""unpinned-code: what a container installs or clones when it starts is the same code tomorrow."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from trainer_infra.render.command_lines.command_line import Program
from trainer_infra.render.command_lines.program_options import separated
from trainer_infra.render.command_lines.references import UNREAD
from trainer_infra.rules.placement import commands
from trainer_infra.rules.placement.commands import ContainerCommand
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject
from trainer_infra.rules.supply_chain import downloads

_COMMIT: Final = re.compile(r"@[0-9a-f]{40}(?:[#&?].*)?")
_VERSION: Final = re.compile(r"v?\d+(?:\.\d+)+[\w.+-]*|.*[-_/]v?\d+(?:\.\d+)+[\w.+-]*")
"""A tag that names a release."""
_HASHED: Final = re.compile(r"[#&]sha(?:256|384|512)=[0-9a-f]{64,}")
_FROM_GIT: Final = re.compile(r"(?:[\w.\[\],-]+\s*@\s*)?(git\+[^\s\"';]+)")
_FROM_URL: Final = re.compile(r"(?:[\w.\[\],-]+\s*@\s*)?(https?://[^\s\"';]+)")
_ARCHIVE: Final = (".whl", ".tar.gz", ".zip", ".tgz", ".tar.bz2", ".tar.xz", ".conda")
_HERE: Final = "."
_CLONE_WORDS: Final = 3
"""`clone`, the branch and the URL."""
_COMMIT_WORD: Final = re.compile(r"[0-9a-f]{7,40}")
_MOVES: Final = "so that the same job may train with other code tomorrow"


def _check_packages(place: ContainerCommand, context: Context[Parameters]) -> Iterator[Finding]:
    for each in place.line.every:
        words = downloads.installed_words(each)
        for word in words:
            if what := _moving_part(word):
                yield place.finding(each, f"has {each.file} install {what}, {_MOVES}", _PIN)
        for following in (at for at in words if at.startswith("http") and at.endswith(".txt")):
            yield place.finding(
                each,
                f"has {each.file} read its requirements from {downloads.host_of(following)}, {_MOVES}",
                _PIN,
            )
    yield from _clones(place, context.subject)


_PIN: Final = "name the commit, @<40 hex digits>, or for a file its hash, #sha256=<64 hex digits>; or build it into the image"


def _moving_part(word: str) -> str:
    """What of a requirement may change, in words that show no credential; empty for nothing."""
    if UNREAD in word:
        return ""
    if found := _FROM_GIT.fullmatch(word):
        url = found[1].partition("#")[0]
        path = url.partition("://")[2].partition("/")[2]
        _, at, reference = path.rpartition("@")
        if _COMMIT.search(found[1]) or (at and _VERSION.fullmatch(reference)):
            return ""
        return f"a branch of a repository on {downloads.host_of(url.removeprefix('git+'))}"
    if found := _FROM_URL.fullmatch(word):
        path = found[1].partition("#")[0].partition("?")[0]
        if (
            path.endswith(_ARCHIVE)
            and not _HASHED.search(found[1])
            and not downloads.PINNED.search(path)
        ):
            return f"a file from {downloads.host_of(path)} without its hash"
    return ""


def _clones(place: ContainerCommand, subject: Subject) -> Iterator[Finding]:
    """Branches that are cloned and archives that are unpacked, and something in them is run."""
    every = place.line.every
    if any(map(downloads.compares, every)):
        return
    for at, each in enumerate(every):
        after = every[at + 1 :]
        folder, source = _cloned(each) or _unpacked(each, every[:at]) or ("", "")
        if folder and not any(map(_names_commit, after)):
            is_run = _is_run(folder, after) or _is_run_later(folder, place, subject)
            if is_run:
                yield place.finding(each, f"runs code of {source}, {_MOVES}", _PIN_FOLDER)


def _is_run_later(folder: str, place: ContainerCommand, subject: Subject) -> bool:
    """Whether a container that mounts the volume of an init container runs something in a folder there."""
    there = place.container
    if there is None or not there.is_init:
        return False
    others = (each for each in commands.commands_of(subject) if each.container is not there)
    return any(
        _is_run(path.rstrip("/"), other.line.every)
        for other in others
        if other.container and other.container.pod is there.pod
        for path in downloads.mounted_at(f"{folder}/", there, other.container)
    )


_PIN_FOLDER: Final = "check a commit out before, git checkout <40 hex digits>, or compare the archive with its checksum"


def _unpacked(program: Program, before: Sequence[Program]) -> tuple[str, str] | None:
    """The folder of an archive that was downloaded, and how it is called."""
    if program.file not in ("tar", "unzip", "bsdtar", "7z"):
        return None
    piped = downloads.fetcher(downloads.all_read(program.around.reads))
    files = {
        path: each
        for each in before
        if downloads.fetches(each)
        for path in downloads.written_files(each)
    }
    found = next((files[each] for each in program.starts if each in files), piped)
    if found is None or any(downloads.PINNED.search(each) for each in downloads.urls_of(found)):
        return None
    urls = [each for each in downloads.urls_of(found) if "/" in each]
    name = urls[-1].partition("?")[0].rpartition("/")[2] if urls else ""
    folder = re.sub(r"(\.tar)?\.\w+$", "", name)
    return folder, f"an archive that {found.file} downloads{downloads.from_host(found)}"


def _git_words(program: Program) -> tuple[str, ...]:
    valued = frozenset(
        {"-C", "-b", "--branch", "--depth", "-c", "-o", "--origin", "--revision", "-j", "--jobs"}
    )
    options, others = separated(program.starts, valued)
    branch = (*options.get("-b", ()), *options.get("--branch", ()), *options.get("--revision", ()))
    return (*others[:1], next(iter(branch), ""), *others[1:])


def _cloned(program: Program) -> tuple[str, str] | None:
    """The folder of a clone of a branch, and how it is called."""
    words = _git_words(program) if program.file == "git" else ()
    if words[:1] == ("pull",):
        return _HERE, "a branch that git pulls"
    if len(words) < _CLONE_WORDS or words[0] != "clone":
        return None
    branch, url, *named = words[1:]
    if _VERSION.fullmatch(branch) or _COMMIT_WORD.fullmatch(branch) or UNREAD in branch:
        return None
    named_so = url.rstrip("/").rpartition("/")[2].removesuffix(".git")
    folder = (named[0] if named else named_so).rstrip("/")
    host = f" from {downloads.host_of(url)}" if "://" in url else ""
    return (folder, f"a repository that git clones by a branch{host}") if folder else None


def _names_commit(program: Program) -> bool:
    words = _git_words(program) if program.file == "git" else ()
    return words[:1] in (("checkout",), ("reset",), ("switch",), ("fetch",)) and any(
        _COMMIT_WORD.fullmatch(each) or UNREAD in each or _VERSION.fullmatch(each)
        for each in words[2:]
    )


def _is_run(folder: str, programs: Iterable[Program]) -> bool:
    """Whether something in a folder is run, by its path or from within."""
    name = folder.rpartition("/")[2]
    is_within = folder == _HERE
    for each in programs:
        if each.file in ("cd", "pushd"):
            is_within = any(
                name in word.split("/") or (is_within and not word.startswith("/"))
                for word in each.starts
            )
            continue
        path = downloads.run_path(each)
        words = (*downloads.installed_words(each), each.around.settings.get("PYTHONPATH", ""))
        installs = any(name in at.split("/") or (at == "." and is_within) for at in words)
        if installs or name in path.split("/")[:-1]:
            return True
        if is_within and (each.file == "make" or (path and not path.startswith("/"))):
            return True
    return False


RULE: Final = Rule(
    id="unpinned-code",
    title="Code that is installed at the start must be pinned",
    severity=Severity.MEDIUM,
    kinds=commands.KINDS,
    tags=("supply-chain", "commands"),
    why=(
        "A branch and a file at an address change: a restarted pod, or the next node, trains with code that "
        "differs from what was reviewed and from that of its neighbors."
    ),
    fix="Name a commit or a hash, or build the package into the image.",
    places=commands.commands_of,
    check=_check_packages,
)
