"""The log of one pod: whole lines of all its containers, in one file, the last ones in memory.

A line reaches the file when it is complete, a progress bar that is drawn over and over once a
second; lines of containers that run side by side are never mixed.
"""

import asyncio
import codecs
import os
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from trainer_infra.in_pod.checkpoints import hangs
from trainer_infra.local import disk_use
from trainer_infra.runs.redaction import Redaction
from trainer_infra.runs.terminal_lines import TerminalLines

LAST_LINES: Final = 100
"""How many lines are kept, of which a Failure shows the last that say why."""
PAUSE: Final = 1.0
"""Seconds between two states of a progress bar."""
QUIET: Final = 0.1
"""Seconds without more of it after which a state counts as whole: a program may write it in parts."""


@dataclass(slots=True)
class _Stream:
    """What one container writes."""

    lines: TerminalLines = field(default_factory=TerminalLines)
    decoder: codecs.IncrementalDecoder = field(
        default_factory=lambda: codecs.getincrementaldecoder("utf-8")("surrogateescape")
    )
    fed: float = 0.0
    """When it wrote last, by the monotonic clock."""
    shown: float = 0.0
    """When a state was written last."""
    timer: asyncio.TimerHandle | None = None
    """Writes the next state."""


class PodLog:
    """The log of one try of a pod, appended to the pod's file."""

    def __init__(
        self,
        path: Path,
        on_full: Callable[[Path, OSError], None],
        hidden: Redaction,
        on_hang: Callable[[], None],
    ) -> None:
        self._path = path
        self._hidden = hidden
        self._on_full, self._on_hang = on_full, on_hang
        self._handle: int | None = None
        self._streams: dict[str, _Stream] = {}
        self._last: deque[str] = deque(maxlen=LAST_LINES)
        self._states: Sequence[str] = ()

    @property
    def last_lines(self) -> tuple[str, ...]:
        """The last lines, oldest first; of a progress bar the last state, as on a terminal."""
        return (*self._last, *self._states)[-LAST_LINES:]

    def feed(self, container: str, data: bytes) -> None:
        """Take what a container wrote."""
        stream = self._streams.setdefault(container, _Stream())
        stream.fed = time.monotonic()
        lines = stream.lines.feed(stream.decoder.decode(data))
        self._write(lines)
        if any(each.startswith(hangs.PREFIX) for each in lines):
            self._on_hang()
        self._await_state(stream)

    def line(self, text: str) -> None:
        """Write a line of the supervisor's own."""
        self._write([text])

    def end(self, container: str) -> None:
        """Write what a container left without a line end."""
        stream = self._streams.pop(container, None)
        if stream is None:
            return
        if stream.timer is not None:
            stream.timer.cancel()
        rest = stream.decoder.decode(b"", final=True)
        self._write([*stream.lines.feed(rest), *stream.lines.end()])

    def close(self) -> None:
        """Close the file; the last lines stay."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def _await_state(self, stream: _Stream) -> None:
        """Have the newest state written, if there is one, a while after the one before."""
        if stream.timer is None and stream.lines.is_waiting:
            wait = max(QUIET, stream.shown + PAUSE - time.monotonic())
            loop = asyncio.get_running_loop()
            stream.timer = loop.call_later(wait, self._write_state, stream)

    def _write_state(self, stream: _Stream) -> None:
        stream.timer, now = None, time.monotonic()
        if states := stream.lines.newest(unfinished=now - stream.fed >= QUIET):
            stream.shown = now
            self._write(states, are_states=True)
        self._await_state(stream)

    def _write(self, lines: Sequence[str], *, are_states: bool = False) -> None:
        if not lines:
            return
        text = self._hidden.text("\n".join(lines)).encode(errors="surrogateescape")
        shown = text.decode(errors="replace").split("\n")
        if are_states:
            self._states = shown
        else:
            self._last += (*self._states, *shown)
            self._states = ()
        view = memoryview(text + b"\n")
        try:
            if self._handle is None:
                flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
                self._handle = os.open(self._path, flags, 0o600)
            while view:
                view = view[os.write(self._handle, view) :]
        except OSError as error:
            if not disk_use.is_full(error):
                raise
            self._on_full(self._path, error)
