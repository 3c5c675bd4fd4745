"""uv as an installer: where it is, its command, and what its output says.

uv links files from its cache, so that two environments share what they both have; it is optional.
What pip of this machine is set to is said to uv as well (`pip_settings`).
"""

import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from trainer_infra.local import installer
from trainer_infra.local.installer import Installation, Installer

MARKS: Final = r"[^\w\[`]*(?:error: |cause: |Caused by: )?"
"""What uv begins a line of an error with, in its releases so far: words, or a tree of lines."""
BEGIN: Final = "error: | +\N{MULTIPLICATION SIGN} "
INDEXES: Final = {"--index-url": "--default-index", "--extra-index-url": "--index"}
CONNECTION: Final = ("error sending request", "client error")


def uv_command() -> list[str] | None:
    """How uv is started: the interpreter's own, else the one on PATH; None where there is none."""
    if find_spec("uv") is not None:
        return [sys.executable, "-m", "uv"]
    found = shutil.which("uv")
    return None if found is None else [found]


def installer_for(
    uv: Sequence[str], venv: Path, wanted: Sequence[str], settings: Mapping[str, str]
) -> Installer:
    """The installer of one environment.

    Args:
        uv: how it is started.
        venv: the folder of the environment.
        wanted: arguments for requirements and options, as pip has them.
        settings: variables that say what pip is set to.
    """
    make = [sys.executable, "-m", "venv", "--without-pip", str(venv)]
    # Its lines about downloads are a part of its progress: they are wanted, and bars need a terminal.
    options = ["--color", "never", "--python", str(venv / "bin" / "python")]
    wanted = [_told(each) for each in wanted]
    install = [*uv, "pip", "install", *options, *wanted]
    if any(each.startswith(INDEXES["--extra-index-url"]) for each in wanted):
        # To pip all indexes are equal; uv by itself would take the first that knows a name.
        settings = {**settings, "UV_INDEX_STRATEGY": "unsafe-best-match"}
    return Installer("uv", (make, install), settings, installation_state, failure_reason)


def _told(line: str) -> str:
    """A requirement, or an option of pip as uv has it: its older one gives way to a variable."""
    option, equals, value = line.partition("=")
    return f"{INDEXES[option]}={value}" if equals and option in INDEXES else line


def installation_state(lines: Sequence[str], _written: int) -> Installation:
    """How far uv is; it names what is large, all of it at once, and each when it is there."""
    found = installer.matches_of(rf" *Downloading (\S+) {installer.SIZE}", lines)
    sizes = {each[1]: installer.size_shown(each[2], each[3]) for each in found}
    announced = sum(sizes.values())
    prepared = installer.matches_of(r"Prepared (\d+) packages?", lines)
    if prepared:
        return Installation(announced, announced, True, int(prepared[-1][1]))
    done = {each[1] for each in installer.matches_of(r" *Downloaded (\S+)", lines)}
    downloaded = sum(bytes_ for name, bytes_ in sizes.items() if name in done)
    return Installation(downloaded, announced, True)


def failure_reason(lines: Sequence[str]) -> str:
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
        return installer.no_answer(": ".join(dict.fromkeys((*causes[1:2], *causes[-2:]))))
    return " ".join([*causes[1:], *hints]) or causes[0]
