"""pip as an installer: its command, and what its output says. Pure."""

import re
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from trainer_infra.local import installer
from trainer_infra.local.installer import Installation, Installer

OPTIONS: Final = ("--disable-pip-version-check", "--no-input", "--progress-bar", "off")
BROKEN: Final = r"connection broken by '(.*)': |Could not fetch URL (.*) - skipping"
VERSIONS: Final = r"\(from versions: (.*)\)"
NEWEST: Final = 3
"""Versions of a package that a message has, of all that there are."""


def installer_for(venv: Path, packages: Sequence[str], file: Path) -> Installer:
    """The interpreter's own pip, if it has one: copying pip takes seconds.

    Args:
        venv: the folder of the environment.
        packages: requirements, and options.
        file: where requirements with hashes are.
    """
    own = find_spec("pip") is not None
    make = [sys.executable, "-m", "venv", *(["--without-pip"] if own else []), str(venv)]
    python = str(venv / "bin" / "python")
    pip = [sys.executable, "-m", "pip", "--python", python] if own else [python, "-m", "pip"]
    install = [*pip, "install", *OPTIONS, *installer.requirement_arguments(packages, file)]
    return Installer("pip", (make, install), {}, installation_state, failure_reason)


def installation_state(lines: Sequence[str], written: int) -> Installation:
    """How far pip is; it names what it downloads one after the other."""
    found = installer.matches_of(rf" *(?:Downloading|Using cached) .*{installer.SIZE}", lines)
    announced = sum(installer.size_shown(*each.groups()) for each in found)
    unpacked = installer.matches_of(r"Installing collected packages: (.*)", lines)
    if unpacked:
        return Installation(announced, announced, True, len(unpacked[-1][1].split(", ")))
    return Installation(min(written, announced), announced)


def failure_reason(lines: Sequence[str]) -> str:
    """Why pip failed: what conflicts, what does not answer, what cannot be built, or its words."""
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    said = " ".join(errors)
    broken = [found for line in lines if (found := re.search(BROKEN, line))]
    if broken and ("(from versions: none)" in said or "Max retries" in said):
        # An object of urllib3 is in the words: its address says nothing to a user.
        error = re.sub(r"<[^<>]* object at \w+>: ", "", broken[-1][1] or broken[-1][2])
        return installer.no_answer(error)
    if "conflicting dependencies" in said:
        return _conflict(lines)
    if any("[end of output]" in line for line in lines):
        # Of builds inside of builds the innermost ends first: what it said last names the cause.
        end = next(i for i, line in enumerate(lines) if "[end of output]" in line)
        last = next((line.strip() for line in reversed(lines[:end]) if line.strip()), "")
        failed = installer.matches_of(r"ERROR: Failed building wheel for (\S+)", lines)
        collected = installer.matches_of(r"Collecting (\S+)", lines[:end])
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
