"""unpinned-code: what a container installs or clones when it starts is the same code tomorrow."""

import itertools
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

_COMMIT: Final = re.compile(r"[0-9a-f]{7,40}")
_VERSION: Final = re.compile(r"v?\d+(?:\.\d+)+[\w.+-]*|.*[-_/]v?\d+(?:\.\d+)+[\w.+-]*")
"""A tag that names a release."""
_HASHED: Final = re.compile(r"[#&]sha(?:256|384|512)=[0-9a-f]{64,}")
_FROM: Final = re.compile(r"(?:[\w.\[\],-]+\s*@\s*)?((?:git\+|https?://)[^\s\"';]+)")
"""A requirement with an address."""
_ARCHIVE: Final = (".whl", ".tar.gz", ".zip", ".tgz", ".tar.bz2", ".tar.xz", ".conda")
_OF_HUB: Final = re.compile(r"/([\w.]+(?:-[\w.]+)*)/archive/")
"""The repository in the address of GitHub's archive, whose folder has its name before that of the branch."""
_UNPACK: Final = ("tar", "unzip", "bsdtar", "7z")
_HERE: Final = "."
_GIT_VALUED: Final = frozenset(
    {"-C", "-b", "--branch", "--depth", "-c", "-o", "--origin", "--revision", "-j", "--jobs"}
)
_MOVES: Final = "so that the same job may train with other code tomorrow"
_PIN: Final = "name the commit, @<40 hex digits>, or for a file its hash, #sha256=<64 hex digits>; or build it into the image"
_TRUSTS: Final = re.compile(r"--?trust[-_]remote[-_]code(=(true|1|yes))?", re.IGNORECASE)
_PIN_MODEL: Final = (
    "name the commit of the model, --model_revision or --revision with 40 hex digits, or fetch the model by an "
    "initializer and give its folder"
)
_PIN_FOLDER: Final = "check a commit out before, git checkout <40 hex digits>, or compare the archive with its checksum"


def _check_packages(place: ContainerCommand, context: Context[Parameters]) -> Iterator[Finding]:
    for each in place.line.every:
        for word in downloads.installed_words(each):
            if what := _moving_part(word):
                yield place.finding(each, f"has {each.file} {what}, {_MOVES}", _PIN)
        if _trusts_moving_code(each):
            what = f"has {each.file} run code that comes with a model, {_MOVES}"
            yield place.finding(each, what, _PIN_MODEL)
    yield from _clones(place, context.subject)


def _trusts_moving_code(program: Program) -> bool:
    """Whether it runs the code in a model's repository on a hub, whatever commit that is at."""
    trusts = any(
        _TRUSTS.fullmatch(each) and after.lower() not in ("false", "0", "no")
        for each, after in itertools.pairwise((*program.starts, ""))
    )
    return trusts and not any(
        downloads.PINNED.search(each) or each.startswith(("/", "./")) or UNREAD in each
        for each in program.starts[1:]
    )


def _moving_part(word: str) -> str:
    """What is done with a requirement that may change, in words that show no credential; empty for nothing."""
    if word.startswith("http") and word.endswith(".txt") and not downloads.PINNED.search(word):
        return f"read its requirements from {downloads.host_of(word)}"
    found = None if UNREAD in word else _FROM.fullmatch(word)
    if found is None:
        return ""
    url = found[1].partition("#")[0]
    host, _, path = url.removeprefix("git+").partition("://")[2].partition("/")
    if url.startswith("git+"):
        reference = path.rpartition("@")[2] if "@" in path else ""
        is_fixed = downloads.PINNED.fullmatch(reference) or _VERSION.fullmatch(reference)
        return "" if is_fixed else f"install a branch of a repository on {downloads.host_of(host)}"
    path = path.partition("?")[0]
    is_fixed = _HASHED.search(found[1]) or downloads.PINNED.search(path)
    if is_fixed or not path.endswith(_ARCHIVE):
        return ""
    return f"install a file from {downloads.host_of(host)} without its hash"


def _clones(place: ContainerCommand, subject: Subject) -> Iterator[Finding]:
    """Branches that are cloned and archives that are unpacked, and something in them is run."""
    every = place.line.every
    for at, each in enumerate(every):
        folder, source = _cloned(each) or _unpacked(each, every[:at]) or ("", "")
        after = every[at + 1 :]
        if not folder or any(map(_names_commit, after)) or any(map(downloads.compares, every)):
            continue
        if _is_run(folder, after) or _is_run_later(folder, place, subject):
            yield place.finding(each, f"runs code of {source}, {_MOVES}", _PIN_FOLDER)


def _is_run_later(folder: str, place: ContainerCommand, subject: Subject) -> bool:
    """Whether a container that mounts the volume of an init container runs something in a folder there."""
    there = place.container
    if there is None or not there.is_init:
        return False
    return any(
        _is_run(path.rstrip("/"), other.line.every)
        for other in commands.commands_of(subject)
        if (here := other.container) and here is not there and here.pod is there.pod
        for path in downloads.mounted_at(f"{folder}/", there, here)
    )


def _unpacked(program: Program, before: Sequence[Program]) -> tuple[str, str] | None:
    """The folder of an archive that was downloaded, and how it is called."""
    if program.file not in _UNPACK:
        return None
    files = {
        path: each
        for each in before
        if downloads.fetches(each)
        for path in downloads.written_files(each)
    }
    piped = downloads.fetcher(downloads.all_read(program.around.reads))
    found = next((files[each] for each in program.starts if each in files), piped)
    if found is None or any(map(downloads.PINNED.search, downloads.urls_of(found))):
        return None
    urls = [each.partition("?")[0] for each in downloads.urls_of(found) if "/" in each]
    folder = re.sub(r"(\.tar)?\.\w+$", "", urls[-1].rpartition("/")[2]) if urls else ""
    if archived := _OF_HUB.search(urls[-1] if urls else ""):
        folder = f"{archived[1]}-{folder}"
    return folder, f"an archive that {found.file} downloads{downloads.from_host(found)}"


def _git(program: Program) -> tuple[str, str, tuple[str, ...]]:
    """A command of git, its branch and its other words; an empty one of another program."""
    options, others = separated(program.starts, _GIT_VALUED) if program.file == "git" else ({}, ())
    named = (options[each][0] for each in ("-b", "--branch", "--revision") if each in options)
    return "".join(others[:1]), next(named, ""), others[1:]


def _cloned(program: Program) -> tuple[str, str] | None:
    """The folder of a clone of a branch, and how it is called."""
    command, branch, words = _git(program)
    if command == "pull":
        return _HERE, "a branch that git pulls"
    is_fixed = _VERSION.fullmatch(branch) or _COMMIT.fullmatch(branch) or UNREAD in branch
    if command != "clone" or not words or is_fixed:
        return None
    url = words[0].rstrip("/")
    named = words[1] if words[1:] else url.rpartition("/")[2].removesuffix(".git")
    host = f" from {downloads.host_of(url)}" if "://" in url else ""
    return named.rstrip("/"), f"a repository that git clones by a branch{host}"


def _names_commit(program: Program) -> bool:
    command, _, words = _git(program)
    return command in ("checkout", "reset", "switch", "fetch") and any(
        _COMMIT.fullmatch(each) or UNREAD in each or _VERSION.fullmatch(each) for each in words
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
        is_inside = is_within and (each.file == "make" or (path and not path.startswith("/")))
        if installs or is_inside or name in path.split("/")[:-1]:
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
