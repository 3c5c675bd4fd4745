"""Reading the logs of a run, while it writes them or after. Called by `runs.logs`."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

PAUSE: Final = 0.1
"""Seconds between two looks at files that somebody may still write."""
Line = tuple[str, str]
"""Pod and line."""


def read(files: Callable[[], tuple[Path, ...]], tail: int | None) -> Iterator[Line]:
    """The lines that are there now; of each pod the last `tail`."""
    for path in files():
        lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
        whole = lines[:-1] if lines[-1] == "" else lines
        for line in whole if tail is None else whole[max(0, len(whole) - tail) :]:
            yield path.stem, line


def follow(
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
            for line in whole.decode(errors="replace").splitlines():
                yield path.stem, line
        if over:
            return
        first = False
        time.sleep(PAUSE)


def _after(path: Path, offset: int) -> bytes:
    with path.open("rb") as file:
        file.seek(offset)
        return file.read()


def _skip(path: Path, tail: int | None) -> int:
    """Where the last `tail` lines begin."""
    if tail is None:
        return 0
    lines = path.read_bytes().splitlines(keepends=True)
    return sum(len(line) for line in lines[: max(0, len(lines) - tail)])
