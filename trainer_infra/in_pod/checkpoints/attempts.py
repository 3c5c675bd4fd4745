"""The attempts of a run to come to its end, as its first process remembers them and reports them.

`attempts.json` is beside the checkpoints: the last attempts, and what those before them add up to. An attempt is
written when it goes on from a step, at each save, about once a second where a write is cheap, and at its end. What ends
it without a word, as SIGKILL does, leaves the step that was last written. How many steps it lost is known when the next
one goes on.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import threading
import time
from dataclasses import asdict, dataclass, field, replace

from trainer_infra.in_pod import report
from trainer_infra.in_pod.checkpoints.log import say
from trainer_infra.in_pod.checkpoints.place import Folder
from trainer_infra.in_pod.checkpoints.shelf import Shelf
from trainer_infra.in_pod.checkpoints.writer import PAUSE, SharedError, Writer

FILE = "attempts.json"
KEPT = 10
"""Attempts that are remembered one by one: each report has them, a kilobyte, and a pod's last words have four."""
OFTEN = 1.0
"""Seconds between two writes to a folder; a request to a bucket has its price."""
SHARE = 20
"""A write that takes long is made less often: it takes a twentieth of the time at most."""
TOLD, ENDED = "told to end", "ended"


@dataclass(frozen=True)
class _AttemptEntry:
    """One attempt. Times are seconds since 1970, by the clock of its node."""

    number: int
    begin: float
    trains: float
    """When it had its checkpoint."""
    first: int
    """The step from which it went on."""
    last: int
    """The last one that is known to be done."""
    at: float
    """When that was known."""
    how: str = ""
    """How it ended, as far as it could say."""

    def seconds_of(self, steps: int) -> float:
        """What so many of its steps took."""
        return steps * (self.at - self.trains) / max(1, self.last - self.first)

    def line(self) -> str:
        """As it is reported: begin, seconds, first and last step, and how it ended."""
        begin = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(self.begin))
        begin = f"{begin}.{int(self.begin % 1 * 1000):03}Z"
        took = f"+{max(0.0, self.at - self.begin):.0f}s"
        return f"{begin} {took} {self.first}..{self.last} {self.how}".strip()[: report.LONGEST_TEXT]


@dataclass(frozen=True)
class _Memory:
    """What the file has."""

    run: str
    begin: float
    """Of the first attempt."""
    lost: int = 0
    """Steps that attempts before the last one made and the next ones made again."""
    kept: float = 0.0
    """Seconds in which they made the others."""
    entries: tuple[_AttemptEntry, ...] = field(default=())
    """The oldest first."""

    def with_next(self, begin: float, first: int) -> _Memory:
        """And an attempt that goes on from a step."""
        number, lost, kept = 1, self.lost, self.kept
        if self.entries:
            before = self.entries[-1]
            number, lost = before.number + 1, lost + max(0, before.last - first)
            # One that went back further than it had begun takes from those before it.
            kept = max(0.0, kept + before.seconds_of(min(before.last, first) - before.first))
        now = _AttemptEntry(number, begin, time.time(), first, first, time.time())
        return replace(self, lost=lost, kept=kept, entries=(*self.entries, now)[-KEPT:])

    def metrics(self) -> dict[str, str]:
        """As they are reported, the newest attempt first; nothing of a first one that comes to its end."""
        now = self.entries[-1]
        if now.number == 1 and now.how in ("", ENDED):
            return {}
        share = (self.kept + now.at - now.trains) / max(1e-9, now.at - self.begin)
        return {
            "attempts.total": str(now.number),
            "attempts.lost_steps": str(self.lost),
            "attempts.effective_percent": f"{100 * max(0.0, min(1.0, share)):.0f}",
            **{f"attempts.{each.number}": each.line() for each in reversed(self.entries)},
        }


class AttemptLog:
    """This attempt, after those before it, as the first process keeps it. Nothing of it ever fails a training."""

    def __init__(self, shelf: Shelf, writer: Writer, run: str) -> None:
        self._shelf = shelf
        self._writer = writer
        self._memory = _Memory(run, time.time())
        self._begin = self._memory.begin
        self._step = 0
        self._how = ""
        self._pause = OFTEN if isinstance(shelf.place, Folder) else PAUSE
        self._due = 0.0
        self._writing = threading.Lock()
        self._process = os.getpid()
        # Before what a session registers, and so after that when the program ends: the place may be slow.
        atexit.register(self.end)

    def begin(self, step: int) -> None:
        """Remember that this attempt goes on from a step, after those that are found."""
        self._step = step
        self._memory = self._found().with_next(self._begin, step)
        report.remember(lambda: self._now().metrics())
        self._write(tells=True)

    def note(self, step: int) -> None:
        """Remember that a step is done; written in a thread when it is time."""
        self._step = step
        if time.monotonic() >= self._due:
            self.tell(tells=False)

    def tell(self, *, tells: bool = True) -> None:
        """Write it now, and report it, in a thread: a training waits for neither a disk nor a server, nor does its end."""
        self._due = time.monotonic() + self._pause
        threading.Thread(
            target=self._write, args=(tells,), name="checkpoint-attempts", daemon=True
        ).start()

    def end(self, how: str = "") -> None:
        """Remember how it ended, unless that is known: as it says, or as the interpreter saw it."""
        if self._memory.entries and not self._how and os.getpid() == self._process:
            error = getattr(sys, "last_type", None)
            self._how = how or (error.__name__ if error else ENDED)
            self._write(tells=True)

    def _now(self) -> _Memory:
        *before, now = self._memory.entries
        now = replace(now, last=self._step, at=time.time(), how=self._how)
        return replace(self._memory, entries=(*before, now))

    def _write(self, tells: bool) -> None:
        began = time.monotonic()
        # Another one that took the place over remembers from there on.
        with self._writing, contextlib.suppress(OSError, SharedError):
            self._writer.check()
            self._shelf.write_object(FILE, asdict(self._now()))
        now = time.monotonic()
        self._due = max(self._due, now + SHARE * (now - began))
        if tells:
            report.tell()

    def _found(self) -> _Memory:
        """What this run remembers; nothing where the file is another run's, or cannot be read."""
        try:
            said = self._shelf.read_object(FILE)
            entries = tuple(_AttemptEntry(**each) for each in said.pop("entries"))
            found = _Memory(**said, entries=entries)
            # Of a second one everything is read.
            found.with_next(0.0, 0).with_next(0.0, 0).metrics()
        except Exception as error:  # noqa: BLE001  whatever is in it, the training goes on
            if not isinstance(error.__cause__, FileNotFoundError):
                say(
                    f"what this run remembers of its attempts begins anew: {FILE} cannot be read: {error}"
                )
            return self._memory
        return found if found.run == self._memory.run else self._memory
