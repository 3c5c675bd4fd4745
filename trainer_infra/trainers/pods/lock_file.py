"""A lock file as `packages`: every requirement pinned, with its hashes, and where they come from.

The format is pip's for requirements files, as `uv pip compile` and pip-compile write it; of the
options a lock needs those that say where packages come from. A problem names the file and the line.
"""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.trainers.code import shown_path
from trainer_infra.trainers.pods import packages
from trainer_infra.trainers.pods.packages import RequirementLine

ALIASES: Final = {"-i": "--index-url", "-f": "--find-links"}
URLS: Final = ("--index-url", "--extra-index-url")
HASHED: Final = "--require-hashes"
PLAIN: Final = ("--no-index", HASHED)
KNOWN: Final = f"{', '.join(URLS)}, --find-links and {' and '.join(PLAIN)}"
HASH: Final = re.compile(r"(sha256|sha384|sha512):[0-9a-f]{64,}")
PATH: Final = "packages"


@dataclass(frozen=True, slots=True)
class LockFile:
    """What a lock file says."""

    origin: tuple[str, ...]
    """Options that say where packages come from, in their order."""
    requirements: tuple[str, ...]
    """Requirements with their markers and hashes, a line each, sorted."""


@dataclass(frozen=True, slots=True)
class _Line:
    """A line, whole, with the number of its first part."""

    number: int
    text: str

    @property
    def is_option(self) -> bool:
        return self.text.startswith("-")


def read_lock(given: str | os.PathLike[str]) -> LockFile:
    """The lock file of a path, relative to the working directory.

    Raises:
        InvalidInput: It is not there, or something in it is not pinned; holds every problem.
    """
    path = Path(given)
    if not path.is_file():
        what, fix = f"there is no lock file {path}", f"paths are relative to {Path.cwd()}"
        if re.search(r"[=<>~]", str(given)):
            what, fix = "must be a list of requirements", f'write packages=["{given}"]'
        raise InvalidInput([Problem(PATH, what, got=str(given), fix=fix)])
    found = path.stat()
    return _read(path.absolute(), found.st_mtime_ns, found.st_size)


@lru_cache(maxsize=16)
def _read(path: Path, _changed: int, _size: int) -> LockFile:
    """The same, once of each file as it is: a trainer is judged and then packed, and a sweep has many."""
    try:
        lines = tuple(_whole_lines(path.read_text(encoding="utf-8")))
    except UnicodeDecodeError:
        raise InvalidInput([Problem(PATH, "is not UTF-8 text", where=shown_path(path))]) from None
    problems = tuple(_problems(lines, shown_path(path)))
    if problems:
        raise InvalidInput(problems)
    options = [_option(each.text) for each in lines if each.is_option]
    origin = (f"{name}={value}" if value else name for name, value in options)
    parts = [_parts(each.text) for each in lines if not each.is_option]
    wanted = {packages.HASH.join([text, *sorted(hashes)]) for text, hashes in parts}
    return LockFile(tuple(each for each in origin if each != HASHED), tuple(sorted(wanted)))


def _whole_lines(text: str) -> Iterator[_Line]:
    """Lines without comments; one that ends with a backslash goes on in the next."""
    number = 0
    parts: list[str] = []
    for index, line in enumerate([*text.splitlines(), ""], 1):
        said = re.sub(r"(^|\s)#.*", "", line).strip()
        number = number if parts else index
        parts += [part] if (part := said.removesuffix("\\").strip()) else []
        if parts and not said.endswith("\\"):
            yield _Line(number, " ".join(parts))
            parts = []


def _option(text: str) -> tuple[str, str]:
    """Name and value of an option, which may be empty."""
    name, _, value = text.replace("=", " ", 1).partition(" ")
    return ALIASES.get(name, name), value.strip()


def _problems(lines: Sequence[_Line], file: str) -> Iterator[Problem]:
    wanted = [each for each in lines if not each.is_option]
    for each in lines:
        if each.is_option:
            yield from _option_problems(each, f"{file}:{each.number}")
    plain = (RequirementLine(_parts(e.text)[0], PATH, f"{file}:{e.number}") for e in wanted)
    yield from packages.requirement_problems(plain)
    if not wanted:
        yield Problem(PATH, "has no requirement in it", where=file)
    needs_hashes = any(each.text == HASHED for each in lines) or any(
        _parts(each.text)[1] for each in wanted
    )
    for each in wanted:
        text, hashes = _parts(each.text)
        where = f"{file}:{each.number}"
        if needs_hashes and not hashes and "#sha" not in text:
            fix = "make the file with `trainer-infra lock`"
            yield Problem(PATH, "has no hash, and others have one", text, fix, where)
        for value in hashes:
            if not HASH.fullmatch(value):
                fix = "write --hash=sha256:<64 hex digits>"
                yield Problem(PATH, "has an invalid hash", value, fix, where)


def _option_problems(line: _Line, where: str) -> Iterator[Problem]:
    name, value = _option(line.text)
    if name in URLS:
        yield from packages.url_problems(value, PATH, where)
    elif name == "--find-links":
        if not value.startswith("/"):
            yield from packages.url_problems(value, PATH, where)
    elif name not in PLAIN:
        fix = f"a lock file has requirements, and {KNOWN}; make it with `trainer-infra lock`"
        yield Problem(PATH, "is an option that a lock cannot have", name, fix, where)


def _parts(text: str) -> tuple[str, tuple[str, ...]]:
    """A requirement, and its hashes."""
    requirement, *hashes = re.split(r"\s+--hash[= ]\s*", text)
    return requirement.strip(), tuple(hashes)
