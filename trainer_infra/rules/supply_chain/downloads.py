"""Code that a container downloads when it starts: what is run of it unchecked, and what may be other code tomorrow."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final
from urllib.parse import urlsplit

from trainer_infra.render.command_lines.command_line import Program
from trainer_infra.render.command_lines.program_options import LauncherKind, separated
from trainer_infra.render.command_lines.references import UNREAD
from trainer_infra.rules.placement import commands
from trainer_infra.rules.placement.commands import Command
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
_FETCHERS: Final = frozenset(
    {"curl", "wget", "wget2", "aria2c", "fetch", "http", "https", "lwp-download"}
)
_AS_REMOTE: Final = frozenset({"-O", "--remote-name", "--remote-name-all"})
"""Options by which curl names a file as its address does."""
_INTERPRETER: Final = re.compile(r"(i?python|pypy|perl|ruby|node|php|lua|Rscript|julia)[\d.]*")
_SUMS: Final = re.compile(r"(sha\d*|b2|md5)sum|shasum|rhash")
_VERIFIERS: Final = frozenset(
    {"gpg", "gpgv", "gpg2", "cosign", "minisign", "openssl", "slsa-verifier"}
)
"""Programs that compare a file with what it has to be, beside those that compare checksums."""
_COPIES: Final = frozenset({"mv", "cp", "install", "ln"})
_DECODES: Final = frozenset({"base64", "base32", "xxd", "uudecode", "openssl"})
_PINNED: Final = re.compile(r"(?<![0-9a-f])(?:[0-9a-f]{40}|[0-9a-f]{64})(?![0-9a-f])")
"""A commit or a digest in an address."""
_CODE_OPTIONS: Final = ("-c", "-e", "-r", "-E")
_UNCHECKED: Final = (
    "build it into the image, or download it to a file, compare that with its checksum by sha256sum -c, "
    "and run it afterwards"
)


def _check_downloads(place: Command, context: Context[Parameters]) -> Iterator[Finding]:
    if any(each.runs_download for each in place.codes):
        what = "has Python code that runs what it downloads"
        yield place.words[-1].finding(what, None, _UNCHECKED)
    known = _from_init(place, context.subject)
    for each in place.line.every:
        what = _what_is_run(each, known)
        if what:
            yield place.finding(each, what, _UNCHECKED)
        _note(each, known)


def _from_init(place: Command, subject: Subject) -> dict[str, Program]:
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
                found |= dict.fromkeys(_mounted(path, there, here), program)
    return found


def _mounted(path: str, there: PodContainer, here: PodContainer) -> Iterator[str]:
    """A file of one container's volumes as another container sees it."""
    for volume, folder in _mounts(there):
        if path.startswith(f"{folder}/"):
            yield from (
                other + path.removeprefix(folder) for name, other in _mounts(here) if name == volume
            )


def _mounts(container: PodContainer) -> Iterator[tuple[tuple[object, object], str]]:
    """Each volume, with the part of it that is mounted, and its folder."""
    for each in container.value["volumeMounts"].items():
        folder = each["mountPath"].raw
        if isinstance(folder, str):
            yield (each["name"].raw, each["subPath"].raw), folder.rstrip("/")


def _what_is_run(program: Program, known: dict[str, Program]) -> str:
    """What is wrong with a program that runs something downloaded; empty for nothing."""
    source = None
    if _reads_code(program):
        around = program.around
        is_named = any(UNREAD in each for each in (*around.files, *around.here))
        named = around.made_by if is_named else ()
        read = tuple(_all_read((*around.reads, *named)))
        source = _fetcher(read)
        if source is None and any(_is_decoder(each) for each in read):
            return f"has {program.file} run text that is encoded, so that no reviewer can read it"
    if source is None and _is_made_code(program):
        source = _fetcher(_all_read(program.around.made_by))
    if source is not None:
        shell = program.file.strip(UNREAD) or "a shell"
        return f"has {shell} run what {source.file} downloads{_from(source)}, unchecked"
    return _file_run(program, known)


def _file_run(program: Program, known: Mapping[str, Program]) -> str:
    path = _run_path(program)
    source = next((each for at, each in known.items() if _is_file(path, at)), None)
    return f"runs a file that {source.file} downloads{_from(source)}, unchecked" if source else ""


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
    if UNREAD in program.name or not program.around.made_by:
        return program.name.startswith(UNREAD) and bool(program.around.made_by)
    if program.kind in (LauncherKind.SHELL, LauncherKind.PYTHON):
        first = next(iter(program.operands), "")
        return first.startswith(UNREAD) or (program.unread and not first)
    if _INTERPRETER.fullmatch(program.file):
        return any(
            following.startswith(UNREAD)
            for option, following in zip(program.starts, program.starts[1:], strict=False)
            if option in _CODE_OPTIONS
        )
    return False


def _all_read(programs: Iterable[Program]) -> Iterator[Program]:
    """They, and those whose output they read or show."""
    for each in programs:
        yield each
        yield from _all_read(each.around.reads)
        if each.name in ("echo", "printf", "cat"):
            yield from each.around.made_by


def _fetcher(programs: Iterable[Program]) -> Program | None:
    return next((each for each in programs if _fetches(each)), None)


def _fetches(program: Program) -> bool:
    """Whether it downloads something that may be another thing tomorrow."""
    if program.file not in _FETCHERS:
        return False
    urls = _urls(program)
    return not (urls and all(map(_PINNED.search, urls)))


def _is_decoder(program: Program) -> bool:
    decodes = {"-d", "-D", "--decode", "-r", "-di"} & {*program.starts}
    return program.file in _DECODES and bool(decodes)


def _separated(program: Program) -> tuple[Mapping[str, tuple[str, ...]], tuple[str, ...]]:
    return separated(program.starts, _VALUED if program.file == "curl" else _VALUED | {"-O"})


def _urls(program: Program) -> tuple[str, ...]:
    options, others = _separated(program)
    return (*others, *options.get("--url", ()))


def _from(program: Program) -> str:
    hosts = [host for each in _urls(program) if (host := host_of(each))]
    return f" from {hosts[0]}" if hosts else ""


def host_of(url: str) -> str:
    """The host of a URL, which is safe to be shown; empty where it is not known."""
    try:
        host = urlsplit(url if "://" in url else f"//{url}").hostname or ""
    except ValueError:
        return ""
    return "" if UNREAD in host else host


def _note(program: Program, known: dict[str, Program]) -> None:
    """Adds the files that a program writes; those that it compares are as they have to be."""
    source = program if _fetches(program) else _fetcher(_all_read(program.around.reads))
    if _checks(program):
        known.clear()
    elif _fetches(program):
        known |= dict.fromkeys(_written(program), program)
    elif source is not None:
        copied = program.starts if program.file == "tee" else ()
        known |= dict.fromkeys((*program.around.files, *copied), source)
    elif program.file in _COPIES:
        *sources, last = (*(each for each in program.starts if each[:1] != "-"), "")[:-1] or (
            "",
            "",
        )
        moved = [known[each] for each in sources if each in known]
        known |= dict.fromkeys((last,), moved[0]) if moved else {}


def _checks(program: Program) -> bool:
    """Whether it compares files with what they have to be, or prints a checksum for a comparison."""
    words = {*program.starts}
    if _SUMS.fullmatch(program.file):
        compares = "--check" in words or any(re.fullmatch(r"-\w*c\w*", each) for each in words)
        return compares or not program.is_main
    return program.file in _VERIFIERS and any("verify" in each for each in words)


def _written(program: Program) -> Iterator[str]:
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


def _run_path(program: Program) -> str:
    """The file that a program is, or that it runs."""
    if program.kind in (LauncherKind.SHELL, LauncherKind.PYTHON):
        if program.options.keys() & {"c", "m"}:
            return ""
        return next(iter(program.operands), "")
    if program.kind != LauncherKind.OTHER:
        return next(iter(program.starts), "")
    if _INTERPRETER.fullmatch(program.file):
        return next((each for each in program.starts if not each.startswith("-")), "")
    return program.name if "/" in program.name else f"/usr/local/bin/{program.name}"


def _is_file(run: str, written: str) -> bool:
    """Whether what is run is a file that was written before."""
    run, written = run.removeprefix("./"), written.removeprefix("./")
    if not run or not written or UNREAD in (run, written):
        return False
    name = written.rpartition("/")[2]
    is_relative = not (run.startswith("/") and written.startswith("/"))
    return run == written or (is_relative and run.rpartition("/")[2] == name)


REMOTE_CODE: Final = Rule(
    id="remote-code",
    title="Containers must not run what they download unchecked",
    severity=Severity.HIGH,
    kinds=commands.KINDS,
    tags=("supply-chain", "commands"),
    frameworks=("owasp-k8s/K02",),
    why=(
        "Whoever controls that address, or the network on the way to it, runs code with the job's data, "
        "tokens and GPUs, and no review sees it."
    ),
    fix=(
        "Build it into the image, or compare the file with a checksum before it runs; an address that "
        "names a commit or a digest also passes."
    ),
    places=commands.commands_of,
    check=_check_downloads,
)


_COMMIT: Final = re.compile(r"@[0-9a-f]{40}(?:[#&?].*)?")
_VERSION: Final = re.compile(r"v?\d+(?:\.\d+)+[\w.+-]*|.*[-_/]v?\d+(?:\.\d+)+[\w.+-]*")
"""A tag that names a release."""
_HASHED: Final = re.compile(r"[#&]sha(?:256|384|512)=[0-9a-f]{64,}")
_FROM_GIT: Final = re.compile(r"(?:[\w.\[\],-]+\s*@\s*)?(git\+[^\s\"';]+)")
_FROM_URL: Final = re.compile(r"(?:[\w.\[\],-]+\s*@\s*)?(https?://[^\s\"';]+)")
_ARCHIVE: Final = (".whl", ".tar.gz", ".zip", ".tgz", ".tar.bz2", ".tar.xz", ".conda")
_INSTALLERS: Final = frozenset(
    {"pip", "pip3", "uv", "uvx", "pipx", "poetry", "pdm", "conda", "mamba", "micromamba"}
)
_HERE: Final = "."
_CLONE_WORDS: Final = 3
"""`clone`, the branch and the URL."""
_COMMIT_WORD: Final = re.compile(r"[0-9a-f]{7,40}")
_MOVES: Final = "so that the same job may train with other code tomorrow"


def _check_packages(place: Command, context: Context[Parameters]) -> Iterator[Finding]:
    for each in place.line.every:
        words = installed_words(each)
        for word in words:
            if what := moving_part(word):
                yield place.finding(each, f"has {each.file} install {what}, {_MOVES}", _PIN)
        for following in (at for at in words if at.startswith("http") and at.endswith(".txt")):
            yield place.finding(
                each,
                f"has {each.file} read its requirements from {host_of(following)}, {_MOVES}",
                _PIN,
            )
    yield from _clones(place, context.subject)


_PIN: Final = "name the commit, @<40 hex digits>, or for a file its hash, #sha256=<64 hex digits>; or build it into the image"


def installed_words(program: Program) -> tuple[str, ...]:
    """The words after the name of an installer that installs: those of pip, of uv and of conda; none of others."""
    words = program.starts
    if program.kind == LauncherKind.PYTHON and "m" in program.options:
        name, words = words[:1], words[1:]
        return words if name in (("pip",), ("uv",)) else ()
    return words if re.sub(r"[\d.]+$", "", program.file) in _INSTALLERS else ()


def moving_part(word: str) -> str:
    """What of a requirement may change, in words that show no credential; empty for nothing."""
    if UNREAD in word:
        return ""
    if found := _FROM_GIT.fullmatch(word):
        url = found[1].partition("#")[0]
        path = url.partition("://")[2].partition("/")[2]
        _, at, reference = path.rpartition("@")
        if _COMMIT.search(found[1]) or (at and _VERSION.fullmatch(reference)):
            return ""
        return f"a branch of a repository on {host_of(url.removeprefix('git+'))}"
    if found := _FROM_URL.fullmatch(word):
        path = found[1].partition("#")[0].partition("?")[0]
        if path.endswith(_ARCHIVE) and not _HASHED.search(found[1]) and not _PINNED.search(path):
            return f"a file from {host_of(path)} without its hash"
    return ""


def _clones(place: Command, subject: Subject) -> Iterator[Finding]:
    """Branches that are cloned and archives that are unpacked, and something in them is run."""
    every = place.line.every
    if any(map(_checks, every)):
        return
    for at, each in enumerate(every):
        after = every[at + 1 :]
        folder, source = _cloned(each) or _unpacked(each, every[:at]) or ("", "")
        if folder and not any(map(_names_commit, after)):
            is_run = _is_run(folder, after) or _is_run_later(folder, place, subject)
            if is_run:
                yield place.finding(each, f"runs code of {source}, {_MOVES}", _PIN_FOLDER)


def _is_run_later(folder: str, place: Command, subject: Subject) -> bool:
    """Whether a container that mounts the volume of an init container runs something in a folder there."""
    there = place.container
    if there is None or not there.is_init:
        return False
    others = (each for each in commands.commands_of(subject) if each.container is not there)
    return any(
        _is_run(path.rstrip("/"), other.line.every)
        for other in others
        if other.container and other.container.pod is there.pod
        for path in _mounted(f"{folder}/", there, other.container)
    )


_PIN_FOLDER: Final = "check a commit out before, git checkout <40 hex digits>, or compare the archive with its checksum"


def _unpacked(program: Program, before: Sequence[Program]) -> tuple[str, str] | None:
    """The folder of an archive that was downloaded, and how it is called."""
    if program.file not in ("tar", "unzip", "bsdtar", "7z"):
        return None
    piped = _fetcher(_all_read(program.around.reads))
    files = {path: each for each in before if _fetches(each) for path in _written(each)}
    found = next((files[each] for each in program.starts if each in files), piped)
    if found is None or any(_PINNED.search(each) for each in _urls(found)):
        return None
    urls = [each for each in _urls(found) if "/" in each]
    name = urls[-1].partition("?")[0].rpartition("/")[2] if urls else ""
    return re.sub(
        r"(\.tar)?\.\w+$", "", name
    ), f"an archive that {found.file} downloads{_from(found)}"


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
    folder = named[0] if named else url.rstrip("/").rpartition("/")[2].removesuffix(".git")
    host = f" from {host_of(url)}" if host_of(url) else ""
    return (
        (folder.rstrip("/"), f"a repository that git clones by a branch{host}") if folder else None
    )


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
        path = _run_path(each)
        installs = [at for at in installed_words(each) if at == "." or name in at.split("/")]
        if (
            installs
            or name in path.split("/")[:-1]
            or name in each.around.settings.get("PYTHONPATH", "").split("/")
        ):
            return True
        if is_within and (each.file == "make" or (path and not path.startswith("/"))):
            return True
    return False


UNPINNED_CODE: Final = Rule(
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
