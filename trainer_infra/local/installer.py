"""The installers of packages, uv and pip: how each is started, and what its output says.

uv links files from its cache, so that two environments share what they both have; it is optional.
What pip of this machine is set to is said to uv as well (`pip_settings`). `installation` chooses one.
"""

import re
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from trainer_infra import names
from trainer_infra.in_pod import package_installation

MARKS: Final = r"[^\w\[`]*(?:error: |cause: |Caused by: )?"
"""What uv begins a line of an error with, in its releases so far: words, or a tree of lines."""
BEGIN: Final = "error: | +\N{MULTIPLICATION SIGN} "
INDEXES: Final = {"--index-url": "--default-index", "--extra-index-url": "--index"}
CONNECTION: Final = ("error sending request", "client error")
OPTIONS: Final = ("--disable-pip-version-check", "--no-input", "--progress-bar", "off")
BROKEN: Final = r"connection broken by '(.*)': |Could not fetch URL (.*) - skipping"
VERSIONS: Final = r"\(from versions: (.*)\)"
NEWEST: Final = 3
"""Versions of a package that a message has, of all that there are."""
_UNITS: Final = {"b": 1, "byte": 1, "bytes": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9} | {
    "kib": 2**10,
    "mib": 2**20,
    "gib": 2**30,
}
SIZE: Final = r"\(([\d.]+) ?([kKMG]?i?B|bytes?)\)"
"""How both write a size: `(35.3 MB)`, `(33.7MiB)`."""


@dataclass(frozen=True, slots=True)
class Installation:
    """How far an installation is."""

    downloaded: int = 0
    """Bytes."""
    announced: int = 0
    """Bytes of everything that the installer has said it downloads."""
    is_all: bool = False
    """Whether it has named everything that it downloads."""
    unpacking: int = 0
    """Packages that it writes now, once all are downloaded."""


@dataclass(frozen=True, slots=True)
class Installer:
    """One of the installers, for one virtual environment."""

    name: str
    """`uv` or `pip`."""
    commands: Sequence[Sequence[str]]
    """What to run, one after the other."""
    environment: Mapping[str, str]
    """Variables of its own."""
    state: Callable[[Sequence[str], int], Installation]
    """How far it is, by the lines of its output and the bytes in its temporary folder."""
    reason: Callable[[Sequence[str]], str]
    """Why it failed, by the lines of its output."""


def requirement_arguments(packages: Sequence[str], file: Path) -> list[str]:
    """A job's options and requirements as arguments; the latter in a file where they have hashes."""
    options = [each for each in sorted(packages) if each.startswith(names.INSTALLER_OPTION)]
    wanted = [each for each in sorted(packages) if not each.startswith(names.INSTALLER_OPTION)]
    return [*options, *package_installation.requirement_arguments(wanted, file)]


def size_shown(number: str, unit: str) -> int:
    """Bytes of a size as `SIZE` finds it."""
    return int(float(number) * _UNITS[unit.lower()])


def matches_of(pattern: str, lines: Sequence[str]) -> list[re.Match[str]]:
    """Where lines begin so."""
    return [found for line in lines if (found := re.match(pattern, line))]


def no_answer(error: str) -> str:
    """What to say when the index does not answer."""
    return f"the package index could not be reached: {error}"


def pip_installer(venv: Path, packages: Sequence[str], file: Path) -> Installer:
    """The interpreter's own pip, if it has one: copying pip takes seconds.

    The file is where requirements with hashes are written.
    """
    own = find_spec("pip") is not None
    make = [sys.executable, "-m", "venv", *(["--without-pip"] if own else []), str(venv)]
    python = str(venv / "bin" / "python")
    pip = [sys.executable, "-m", "pip", "--python", python] if own else [python, "-m", "pip"]
    install = [*pip, "install", *OPTIONS, *requirement_arguments(packages, file)]
    return Installer("pip", (make, install), {}, pip_state, pip_failure)


def pip_state(lines: Sequence[str], written: int) -> Installation:
    """How far pip is; it names what it downloads one after the other."""
    found = matches_of(rf" *(?:Downloading|Using cached) .*{SIZE}", lines)
    announced = sum(size_shown(*each.groups()) for each in found)
    unpacked = matches_of(r"Installing collected packages: (.*)", lines)
    if unpacked:
        return Installation(announced, announced, True, len(unpacked[-1][1].split(", ")))
    return Installation(min(written, announced), announced)


def pip_failure(lines: Sequence[str]) -> str:
    """Why pip failed: what conflicts, what does not answer, what cannot be built, or its words."""
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    said = " ".join(errors)
    broken = [found for line in lines if (found := re.search(BROKEN, line))]
    if broken and ("(from versions: none)" in said or "Max retries" in said):
        # An object of urllib3 is in the words: its address says nothing to a user.
        error = re.sub(r"<[^<>]* object at \w+>: ", "", broken[-1][1] or broken[-1][2])
        return no_answer(error)
    if "conflicting dependencies" in said:
        return _conflict(lines)
    if any("[end of output]" in line for line in lines):
        # Of builds inside of builds the innermost ends first: what it said last names the cause.
        end = next(i for i, line in enumerate(lines) if "[end of output]" in line)
        last = next((line.strip() for line in reversed(lines[:end]) if line.strip()), "")
        failed = matches_of(r"ERROR: Failed building wheel for (\S+)", lines)
        collected = matches_of(r"Collecting (\S+)", lines[:end])
        package = next((each[1] for each in (*failed, *reversed(collected))), "a package")
        return f"building {package} failed: {last}"
    if errors and errors[0] == "Exception:":
        return lines[-1].strip()
    return _missing(errors) or " ".join(line.strip() for line in lines[-3:])


def _conflict(lines: Sequence[str]) -> str:
    """`Cannot install a and b because ...: The user requested a; b depends on ...`."""
    first = next(i for i, line in enumerate(lines) if "conflicting dependencies" in line)
    begin = next((i for i, line in enumerate(lines) if line.startswith("The conflict is")), first)
    causes = []
    for line in lines[begin + 1 :]:
        if not line.startswith(" "):
            break
        causes.append(line.strip())
    return f"{lines[first].removeprefix('ERROR: ').rstrip('.')}: {'; '.join(causes)}"


def _missing(errors: Sequence[str]) -> str:
    """The words of pip, with the newest of a hundred versions."""
    told = " ".join(each for each in errors if not each.startswith("Ignored the following"))
    for asked in re.findall(r"No matching distribution found for [^=\s]+==(\S+)", told):
        needs = re.search(rf"[:;] {re.escape(asked)} Requires-Python ([^;]+)", " ".join(errors))
        told += f"; version {asked} requires Python {needs[1].strip()}" if needs else ""
    return re.sub(VERSIONS, _newest, told)


def _newest(found: re.Match[str]) -> str:
    versions = found[1].split(", ")
    if versions == ["none"]:
        return "(the index has no package of that name for this Python, or does not show it)"
    earlier = f", and {len(versions) - NEWEST} earlier ones" if len(versions) > NEWEST else ""
    return f"(there are versions {', '.join(versions[-NEWEST:])}{earlier})"


def uv_command() -> list[str] | None:
    """How uv is started: the interpreter's own, else the one on PATH; None where there is none."""
    if find_spec("uv") is not None:
        return [sys.executable, "-m", "uv"]
    found = shutil.which("uv")
    return None if found is None else [found]


def uv_installer(
    uv: Sequence[str], venv: Path, wanted: Sequence[str], settings: Mapping[str, str]
) -> Installer:
    """The installer of one environment, which `uv` starts.

    The arguments `wanted` are for requirements and options, as pip has them; the settings are variables that say
    what pip is set to.
    """
    make = [sys.executable, "-m", "venv", "--without-pip", str(venv)]
    # Its lines about downloads are a part of its progress: they are wanted, and bars need a terminal.
    options = ["--color", "never", "--python", str(venv / "bin" / "python")]
    wanted = [_told(each) for each in wanted]
    install = [*uv, "pip", "install", *options, *wanted]
    if any(each.startswith(INDEXES["--extra-index-url"]) for each in wanted):
        # To pip all indexes are equal; uv by itself would take the first that knows a name.
        settings = {**settings, "UV_INDEX_STRATEGY": "unsafe-best-match"}
    return Installer("uv", (make, install), settings, uv_state, uv_failure)


def _told(line: str) -> str:
    """A requirement, or an option of pip as uv has it: its older one gives way to a variable."""
    option, equals, value = line.partition("=")
    return f"{INDEXES[option]}={value}" if equals and option in INDEXES else line


def uv_state(lines: Sequence[str], _written: int) -> Installation:
    """How far uv is; it names what is large, all of it at once, and each when it is there."""
    found = matches_of(rf" *Downloading (\S+) {SIZE}", lines)
    sizes = {each[1]: size_shown(each[2], each[3]) for each in found}
    announced = sum(sizes.values())
    prepared = matches_of(r"Prepared (\d+) packages?", lines)
    if prepared:
        return Installation(announced, announced, True, int(prepared[-1][1]))
    done = {each[1] for each in matches_of(r" *Downloaded (\S+)", lines)}
    downloaded = sum(bytes_ for name, bytes_ in sizes.items() if name in done)
    return Installation(downloaded, announced, True)


def uv_failure(lines: Sequence[str]) -> str:
    """Why uv failed: its chain of causes as one sentence."""
    begin = next((i for i, line in enumerate(lines) if re.match(BEGIN, line)), 0)
    # What a build wrote follows an empty line; its last line says what went wrong.
    chain = lines[begin:]
    end = next((i for i, line in enumerate(chain) if not line.strip()), len(chain))
    causes = [re.sub(MARKS, "", line, count=1).strip() for line in chain[:end]]
    if any(line.strip() in {"[stderr]", "[stdout]"} for line in chain[end:]):
        built = [line.strip() for line in chain[end:] if line.strip()]
        return f"{causes[0]}: {next(e for e in reversed(built) if not e.startswith('hint:'))}"
    hints = [line.removeprefix("hint: ") for line in chain[end:] if line.startswith("hint: ")]
    if any(word in each for word in CONNECTION for each in causes):
        # In between it says what a request is made of.
        return no_answer(": ".join(dict.fromkeys((*causes[1:2], *causes[-2:]))))
    return " ".join([*causes[1:], *hints]) or causes[0]
