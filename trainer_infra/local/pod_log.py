"""The log of one pod: whole lines of all its containers, in one file, the last ones in memory.

Called by `container` with what they wrote. A line reaches the file when it is complete; lines of
containers that run side by side are never mixed.
"""

import os
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Final

from trainer_infra.local import full_disk
from trainer_infra.runs.redaction import Redaction

LAST_LINES: Final = 100
"""How many lines are kept, of which a Failure shows the last that say why."""
LONGEST: Final = 64 * 1024
"""Bytes after which a line without an end is written as it is."""


class PodLog:
    """The log of one try of a pod, appended to the pod's file."""

    def __init__(
        self, path: Path, on_full: Callable[[Path, OSError], None], hidden: Redaction
    ) -> None:
        self._path = path
        self._hidden = hidden
        self._on_full = on_full
        self._handle: int | None = None
        self._partial: dict[str, bytes] = {}
        self._last: deque[str] = deque(maxlen=LAST_LINES)

    @property
    def last_lines(self) -> tuple[str, ...]:
        """The last lines, oldest first."""
        return tuple(self._last)

    def feed(self, container: str, data: bytes) -> None:
        """Take what a container wrote."""
        text = self._partial.pop(container, b"") + data
        whole, newline, rest = text.rpartition(b"\n")
        if len(rest) > LONGEST:
            whole, newline, rest = text, b"\n", b""
        if rest:
            self._partial[container] = rest
        self._write(whole + newline)

    def line(self, text: str) -> None:
        """Write a line of the supervisor's own."""
        self._write(f"{text}\n".encode())

    def end(self, container: str) -> None:
        """Write what a container left without a line end."""
        rest = self._partial.pop(container, b"")
        if rest:
            self._write(rest + b"\n")

    def close(self) -> None:
        """Close the file; the last lines stay."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def _write(self, text: bytes) -> None:
        text = self._hidden.content(text)
        # Keep the last lines as a terminal shows them: of a progress bar the last state.
        for line in text.split(b"\n")[:-1][-LAST_LINES:]:
            self._last.append(line.rstrip(b"\r").rpartition(b"\r")[2].decode(errors="replace"))
        view = memoryview(text)
        try:
            if self._handle is None:
                flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
                self._handle = os.open(self._path, flags, 0o600)
            while view:
                view = view[os.write(self._handle, view) :]
        except OSError as error:
            if not full_disk.is_full(error):
                raise
            self._on_full(self._path, error)
