"""Reading the logs of a run, while it writes them or after. Called by `runs.logs`."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

PAUSE: Final = 0.1
"""Seconds between two looks at files that a container may still write."""
Line = tuple[str, str]
"""Pod and line."""


def read_lines(files: Callable[[], tuple[Path, ...]], tail: int | None) -> Iterator[Line]:
    """The lines that are there now; of each pod the last `tail`."""
    for path in files():
        lines = _lines(_after(path, 0))
        for line in lines if tail is None else lines[max(0, len(lines) - tail) :]:
            yield path.stem, line


def follow_lines(
    files: Callable[[], tuple[Path, ...]], ended: Callable[[], bool], tail: int | None
) -> Iterator[Line]:
    """The lines that are there, then each new one, until `ended` and all was read."""
    offsets: dict[Path, int] = {}
    first = True
    while True:
        over = ended()
        for path in files():
            if path not in offsets:
                offsets[path] = _skip(path, tail) if first else 0
            data = _after(path, offsets[path])
            whole = data if over else data[: data.rfind(b"\n") + 1]
            offsets[path] += len(whole)
            for line in _lines(whole):
                yield path.stem, line
        if over:
            return
        first = False
        time.sleep(PAUSE)


def _lines(data: bytes) -> list[str]:
    lines = data.decode(errors="replace").split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _after(path: Path, offset: int) -> bytes:
    """What a file has behind an offset; nothing when the run was deleted meanwhile."""
    try:
        with path.open("rb") as file:
            file.seek(offset)
            return file.read()
    except FileNotFoundError:
        return b""


def _skip(path: Path, tail: int | None) -> int:
    """Where the last `tail` lines begin."""
    if tail is None:
        return 0
    lines = _after(path, 0).split(b"\n")[:-1]
    return sum(len(line) + 1 for line in lines[: max(0, len(lines) - tail)])
