"""What both installers of packages are: how they are started, and what their output says. Pure.

Kept by `pip_installer` and `uv_installer`, chosen and used by `packages`.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from trainer_infra import names

HASH: Final = " --hash="
"""What is between a requirement and each of its hashes."""
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
    """A job's packages as arguments, options first; in a file where they have hashes.

    No installer takes hashes otherwise.

    Args:
        packages: options and requirements.
        file: where `requirement_file` is written.
    """
    if not requirement_file(packages):
        return sorted(packages)
    options = [each for each in sorted(packages) if each.startswith(names.INSTALLER_OPTION)]
    return [*options, "--require-hashes", "-r", str(file)]


def requirement_file(packages: Sequence[str]) -> str:
    """The text of that file; empty where no requirement has a hash."""
    wanted = [each for each in sorted(packages) if not each.startswith(names.INSTALLER_OPTION)]
    return "".join(f"{each}\n" for each in wanted) if any(HASH in each for each in wanted) else ""


def size_shown(number: str, unit: str) -> int:
    """Bytes of a size as `SIZE` finds it."""
    return int(float(number) * _UNITS[unit.lower()])


def matches_of(pattern: str, lines: Sequence[str]) -> list[re.Match[str]]:
    """Where lines begin so."""
    return [found for line in lines if (found := re.match(pattern, line))]


def no_answer(error: str) -> str:
    """What to say when the index does not answer."""
    return f"the package index could not be reached: {error}"
