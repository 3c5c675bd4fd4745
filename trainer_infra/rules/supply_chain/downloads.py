"""remote-code: nothing is run that a container downloads when it starts, and that nothing checks."""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Final
from urllib.parse import urlsplit

from trainer_infra.render.command_lines.command_line import ALONE, Program
from trainer_infra.render.command_lines.program_options import LauncherKind, separated
from trainer_infra.render.command_lines.references import UNREAD
from trainer_infra.rules.placement import commands
from trainer_infra.rules.placement.commands import ContainerCommand
from trainer_infra.rules.pods import PodContainer
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject

_VALUED: Final = frozenset(
    {
        *("-o", "-P", "-H", "-d", "-X", "-u", "-A", "-b", "-c", "-e", "-F", "-T", "-w", "-m"),
        *("--output", "--output-document", "--output-dir", "--directory-prefix", "--header"),
        *("--data", "--request", "--user", "--user-agent", "--max-time", "--connect-timeout"),
        *("--retry", "--retry-delay", "--cacert", "--timeout", "--tries", "-t", "-U", "--proto"),
    }
)
"""Options of curl and wget whose value may be the next word, but for wget's -O, which has none of curl's."""
_FETCHERS: Final = re.compile(r"curl|wget2?|aria2c|fetch|https?|lwp-download")
_AS_REMOTE: Final = frozenset({"-O", "--remote-name", "--remote-name-all"})
"""Options by which curl names a file as its address does."""
_INTERPRETER: Final = re.compile(r"(i?python|pypy|perl|ruby|node|php|lua|Rscript|julia)[\d.]*")
_SUMS: Final = re.compile(r"(sha\d*|b2|md5)sum|shasum|rhash")
_COMPARES: Final = re.compile(r"--check|-\w*c\w*")
_VERIFIERS: Final = re.compile(r"gpg[v2]?|cosign|minisign|openssl|slsa-verifier")
"""Programs that compare a file with what it has to be, beside those that compare checksums."""
_COPIES: Final = frozenset({"mv", "cp", "install", "ln"})
_INSTALLERS: Final = re.compile(r"(pipx?|uvx?|poetry|pdm|conda|(micro)?mamba)[\d.]*")
_DECODERS: Final = frozenset({"base64", "base32", "xxd", "uudecode", "openssl"})
_DECODE: Final = frozenset({"-d", "-D", "--decode", "-r", "-di"})
PINNED: Final = re.compile(r"(?<![0-9a-f])(?:[0-9a-f]{40}|[0-9a-f]{64})(?![0-9a-f])")
"""A commit or a digest in an address."""
_MOST_READ: Final = 64
_CODE_OPTIONS: Final = ("-c", "-e", "-r", "-E")
_UNCHECKED: Final = (
    "build it into the image, or download it to a file, compare that with its checksum by sha256sum -c, "
    "and run it afterwards"
)


def _check_downloads(place: ContainerCommand, context: Context[Parameters]) -> Iterator[Finding]:
    for code in place.codes:
        if code.runs_download:
            yield place.finding(code, "has Python code that runs what it downloads", _UNCHECKED)
    known = _from_init(place, context.subject)
    for each in place.line.every:
        if what := _what_is_run(each, known):
            yield place.finding(each, what, _UNCHECKED)
        _note(each, known)


def _from_init(place: ContainerCommand, subject: Subject) -> dict[str, Program]:
    """Files that init containers before it downloaded to volumes that it mounts, by the paths that they have there."""
    found: dict[str, Program] = {}
    here = place.container
    for other in commands.commands_of(subject) if here else ():
        there = other.container
        if there is here:
            break
        if here and there and there.is_init and there.pod is here.pod:
            files: dict[str, Program] = {}
            for each in other.line.every:
                _note(each, files)
            for path, program in files.items():
                found |= dict.fromkeys(mounted_at(path, there, here), program)
    return found


def mounted_at(path: str, there: PodContainer, here: PodContainer) -> Iterator[str]:
    """A file of one container's volumes as another container sees it."""
    for volume, folder in _mounts(there):
        if path.startswith(f"{folder}/"):
            same = (other for name, other in _mounts(here) if name == volume)
            yield from (other + path.removeprefix(folder) for other in same)


def _mounts(container: PodContainer) -> Iterator[tuple[tuple[object, object], str]]:
    """Each volume, with the part of it that is mounted, and its folder."""
    for each in container.value["volumeMounts"].items():
        folder = each["mountPath"].raw
        if isinstance(folder, str):
            yield (each["name"].raw, each["subPath"].raw), folder.rstrip("/")


def _what_is_run(program: Program, known: Mapping[str, Program]) -> str:
    """What is wrong with a program that runs something downloaded; empty for nothing."""
    around = program.around
    if around.reads or around.made_by:
        read = tuple(all_read(_code_of(program)))
        shell = program.file.strip(UNREAD) or "a shell"
        if source := fetcher(read):
            return f"has {shell} run what {source.file} downloads{from_host(source)}, unchecked"
        if any(each.file in _DECODERS and not _DECODE.isdisjoint(each.starts) for each in read):
            return f"has {shell} run text that is encoded, so that no reviewer can read it"
    path = run_path(program)
    if path.startswith(("http://", "https://")) and not PINNED.search(path):
        # The first word of `args` alone belongs to the image's entrypoint.
        is_program = program.item > 0 or around is not ALONE
        return f"runs a file from {host_of(path)}, unchecked" if is_program else ""
    source = next((each for at, each in known.items() if _is_file(path, at)), None)
    if source is None:
        return ""
    return f"runs a file that {source.file} downloads{from_host(source)}, unchecked"


def _code_of(program: Program) -> Iterator[Program]:
    """The programs whose output a program runs."""
    around = program.around
    if _reads_code(program):
        yield from around.reads
        is_made = any(UNREAD in each for each in (*around.files, *around.here))
        yield from around.made_by if is_made else ()
    if _is_made_code(program):
        yield from around.made_by


def _reads_code(program: Program) -> bool:
    """Whether it is an interpreter that runs what a pipe gives to it."""
    first = program.starts[:1]
    if program.kind == LauncherKind.SHELL:
        return program.name != "source" and (not program.operands or "-s" in program.starts)
    if program.kind == LauncherKind.PYTHON:
        return not program.options.keys() & {"c", "m"} and first in ((), ("-",), ("/dev/stdin",))
    return bool(_INTERPRETER.fullmatch(program.file)) and first in ((), ("-",))


def _is_made_code(program: Program) -> bool:
    """Whether its name, its script or its code is what other programs print."""
    if UNREAD in program.name:
        return program.name.startswith(UNREAD)
    if program.kind in (LauncherKind.SHELL, LauncherKind.PYTHON):
        first = next(iter(program.operands), "")
        return first.startswith(UNREAD) or (program.unread and not first)
    pairs = pairwise(program.starts) if _INTERPRETER.fullmatch(program.file) else ()
    return any(option in _CODE_OPTIONS and code.startswith(UNREAD) for option, code in pairs)


def all_read(programs: Iterable[Program]) -> Iterator[Program]:
    """They, and those whose output they read or show; of a very long pipe those that are near."""
    waiting, seen = [*programs], set[int]()
    while waiting and len(seen) < _MOST_READ:
        each = waiting.pop(0)
        if id(each) not in seen:
            seen.add(id(each))
            yield each
            shows = each.around.made_by if each.name in ("echo", "printf", "cat") else ()
            waiting += (*each.around.reads, *shows)


def fetcher(programs: Iterable[Program]) -> Program | None:
    """The first that downloads something."""
    return next((each for each in programs if fetches(each)), None)


def fetches(program: Program) -> bool:
    """Whether it downloads something that may be another thing tomorrow."""
    if not _FETCHERS.fullmatch(program.file):
        return False
    urls = urls_of(program)
    return not (urls and all(map(PINNED.search, urls)))


def _separated(program: Program) -> tuple[Mapping[str, tuple[str, ...]], tuple[str, ...]]:
    return separated(program.starts, _VALUED if program.file == "curl" else _VALUED | {"-O"})


def urls_of(program: Program) -> tuple[str, ...]:
    """What curl or wget downloads."""
    options, others = _separated(program)
    return (*others, *options.get("--url", ()))


def from_host(program: Program) -> str:
    """From where, for a sentence; empty where no URL says it."""
    # A word that is no URL may be a credential.
    hosts = (host_of(each) for each in urls_of(program) if "://" in each)
    host = next(filter(None, hosts), "")
    return f" from {host}" if host else ""


def host_of(url: str) -> str:
    """The host of a URL, which is safe to be shown; empty where it is not known."""
    try:
        host = urlsplit(url if "://" in url else f"//{url}").hostname or ""
    except ValueError:
        return ""
    return "" if UNREAD in host else host


def is_inside(host: str) -> bool:
    """Whether a host has a name without a domain, or that of a Service, or is this machine."""
    return "." not in host or host.endswith((".svc", ".local", ".default")) or host == "127.0.0.1"


def installed_words(program: Program) -> tuple[str, ...]:
    """The words after the name of an installer that installs: those of pip, of uv and of conda; none of others."""
    words = program.starts
    if program.kind == LauncherKind.PYTHON and "m" in program.options:
        name, words = words[:1], words[1:]
        return words if name in (("pip",), ("uv",)) else ()
    return words if _INSTALLERS.fullmatch(program.file) else ()


def _note(program: Program, known: dict[str, Program]) -> None:
    """Adds the files that a program writes; those that it compares are as they have to be."""
    if compares(program):
        known.clear()
    elif fetches(program):
        known |= dict.fromkeys(written_files(program), program)
    elif source := fetcher(all_read(program.around.reads)):
        copied = program.starts if program.file == "tee" else ()
        known |= dict.fromkeys((*program.around.files, *copied), source)
    elif program.file in _COPIES:
        *sources, last = ("", *(each for each in program.starts if each[:1] != "-"))
        moved = next((known[each] for each in sources if each in known), None)
        known |= {last: moved} if moved else {}


def compares(program: Program) -> bool:
    """Whether it compares files with what they have to be, or prints a checksum for a comparison."""
    words = program.starts
    if _SUMS.fullmatch(program.file):
        return not program.is_main or any(map(_COMPARES.fullmatch, words))
    is_verifier = _VERIFIERS.fullmatch(program.file) is not None
    return is_verifier and any("verify" in each for each in words)


def written_files(program: Program) -> Iterator[str]:
    """The files that curl or wget writes."""
    options, others = _separated(program)
    is_curl = program.file == "curl"
    keys = ("-o", "--output") if is_curl else ("-O", "--output-document", "-o", "--out")
    named = [each for key in keys for each in options.get(key, ()) if each not in ("", "-")]
    yield from (*named, *program.around.files)
    if not named and (not is_curl or options.keys() & _AS_REMOTE):
        folder = next(iter((*options.get("-P", ()), *options.get("--output-dir", ()))), "")
        for url in others:
            name = url.partition("?")[0].rstrip("/").rpartition("/")[2]
            yield f"{folder}/{name}" if folder else name


def run_path(program: Program) -> str:
    """The file that a program is, or that it runs."""
    if program.kind in (LauncherKind.SHELL, LauncherKind.PYTHON):
        if program.options.keys() & {"c", "m"}:
            return ""
        return next(iter(program.operands), "")
    if program.kind != LauncherKind.OTHER:
        return next(iter(program.starts), "")
    if _INTERPRETER.fullmatch(program.file):
        return next((each for each in program.starts if not each.startswith("-")), "")
    return program.name if "/" in program.name else f"bin/{program.name}"


def _is_file(run: str, written: str) -> bool:
    """Whether what is run is a file that was written before."""
    run, written = run.removeprefix("./"), written.removeprefix("./")
    if not run or not written or UNREAD in (run, written):
        return False
    if run.startswith("bin/"):
        return written.endswith(run)
    name = written.rpartition("/")[2]
    is_relative = not (run.startswith("/") and written.startswith("/"))
    return run == written or (is_relative and run.rpartition("/")[2] == name)


RULE: Final = Rule(
    id="remote-code",
    title="Containers must not run what they download unchecked",
    severity=Severity.HIGH,
    kinds=commands.KINDS,
    tags=("supply-chain", "commands"),
    frameworks=("owasp-k8s/K02",),
    why=(
        "Anyone who controls that address, or the network on the way to it, can run code with the job's data, "
        "tokens and GPUs, and no review sees it."
    ),
    fix=(
        "Build it into the image, or compare the file with a checksum before it runs; an address that "
        "names a commit or a digest also passes."
    ),
    places=commands.commands_of,
    check=_check_downloads,
)
