"""Signs of life that each process of a training leaves for the first process of its pod.

A few bytes in a file that is mapped into memory, so that a step costs no system call; `hang_watch` reads them.
"""

from __future__ import annotations

import contextlib
import faulthandler
import functools
import mmap
import os
import signal
import struct
import threading
from pathlib import Path
from typing import NamedTuple

from trainer_infra.in_pod.checkpoints.log import say

FOLDER = "TRAINER_INFRA_BEATS"
"""Variable with the folder in which they are left."""
TRAINS, SAVES, RESTORES, ENDED = range(4)
"""What a process is at."""
NAME, STACKS, LOOP = "rank-{:05}", "stacks-{}", "loop-{}"
"""Files of a rank, and of a process: where its stacks are written, and where its program calls `step`."""
_FORM = struct.Struct("<6q")


class Beat(NamedTuple):
    """One sign of life."""

    number: int
    """How many there were: no two are the same."""
    phase: int
    step: int
    """The last one that is done."""
    pid: int
    signal: int
    """At which the process writes its stacks; 0 where it does not."""
    thread: int
    """That trains, as `faulthandler` names it."""


def read_beat(rank_file: Path) -> Beat:
    """The last one of a rank.

    Raises:
        OSError: It is gone.
    """
    return Beat(*_FORM.unpack(rank_file.read_bytes()))


class Beats:
    """Those of this process, where the first process of its pod watches."""

    def __init__(self, rank: int) -> None:
        self._map: mmap.mmap | None = None
        self._count = self._step = self._signal = 0
        self._folder = Path(os.environ.get(FOLDER, ""))
        if os.environ.get(FOLDER):
            try:
                self._open(rank, os.getpid())
            except OSError as error:
                say(f"hang_after has no effect on this process: {error}")

    def beat(self, phase: int, step: int | None = None) -> None:
        """Leave one."""
        if self._map is not None:
            self._count += 1
            self._step = self._step if step is None else step
            values = self._count, phase, self._step, os.getpid(), self._signal
            _FORM.pack_into(self._map, 0, *values, threading.get_ident())

    def called_from(self, path: str, line: int) -> None:
        """Leave where the program calls `step`, once."""
        if self._map is not None:
            (self._folder / LOOP.format(os.getpid())).write_text(f"{line} {path}", encoding="utf-8")

    def _open(self, rank: int, pid: int) -> None:
        # No framework uses a real-time signal, and macOS has none.
        number = getattr(signal, "SIGRTMIN", 0) + 7
        if number > signal.SIGUSR2:
            with contextlib.suppress(ValueError):
                # What takes it goes before the process does, in whose last moments it would be fatal.
                signal.signal(number, signal.SIG_IGN)
            # It stays open: what takes the signal knows its number.
            faulthandler.register(number, (self._folder / STACKS.format(pid)).open("w"))
            self._signal = number
        own = self._folder / f".{pid}"
        # Its blocks are there before they are mapped. A process that takes the place of another one takes its file.
        own.write_bytes(bytes(_FORM.size))
        with own.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), _FORM.size)
        own.replace(self._folder / NAME.format(rank))


@functools.cache
def beats_of(rank: int) -> Beats:
    """Those of this process, whatever in it saves."""
    return Beats(rank)
