"""One process at a time works on a folder, also where several machines share the file system.

Locks are files `lock-1`, `lock-2` and so on, and the highest one counts. Its holder counts up in it
every few seconds. Only who creates the next file, which the file system grants to one alone
(O_EXCL), is the next holder, and may do so once the highest one is released or its holder is dead:
the number in it has stood still for `PATIENCE` by the waiting process's own clock, or it is of the
same running kernel and its `flock` is free. No clocks of two machines are compared, and a holder
that was only paused sees that a higher lock exists, and ends.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

HEARTBEAT = 5.0
"""Seconds between two signs of life."""
PATIENCE = 60.0
"""Seconds without one after which a holder counts as dead."""
LOOK = 1.0
"""Seconds between two looks at a lock that another process holds."""
SPEAK = 30.0
"""Seconds between two lines about the process that is waited for."""
RELEASED = "released"
SIZE = 4096
"""Bytes of a lock."""
LONGEST = 400
"""Characters of what a holder says, each at most six bytes in JSON."""


@dataclass(frozen=True)
class Holder:
    """Who holds a lock, and what it last said."""

    name: str
    boot: str
    state: str
    text: str


class LockLost(Exception):
    """Another process has taken over, because this one seemed dead."""


class FolderLock:
    """The lock of a folder, which is made where it is missing, held from `acquire` to `release`.

    `text` is what the holder does, for those who wait; `patience` is in seconds, as `PATIENCE`.
    """

    def __init__(self, folder: Path, text: str = "", patience: float = PATIENCE) -> None:
        self.folder = folder
        self.patience = patience
        self.number = 0
        self.descriptor = -1
        self.said = text
        self.is_lost = False
        self.ended = threading.Event()

    def acquire(self, say: Callable[[str], None]) -> None:
        """Wait until the folder is ours; says for whom it waits.

        Raises:
            OSError: The folder cannot be written to.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        seen, since, spoke = (0, ""), time.monotonic(), 0.0
        while True:
            number = self.highest()
            text = self.read(number)
            if (number, text) != seen:
                seen, since = (number, text), time.monotonic()
            if self.is_free(number, text, since):
                if self.create(number + 1):
                    return
                continue
            if time.monotonic() - spoke >= SPEAK:
                spoke = time.monotonic()
                holder = _holder(text)
                what = f", which says: {holder.text}" if holder.text else ""
                say(f"waiting for {holder.name or 'another process'}{what}")
            time.sleep(LOOK)

    def is_free(self, number: int, text: str, since: float) -> bool:
        """Whether the highest lock has no holder any more."""
        if number == 0 or _holder(text).state == RELEASED:
            return True
        is_dead = _holder(text).boot == boot_id() and self.is_unlocked(number)
        return is_dead or time.monotonic() - since >= self.patience

    def highest(self) -> int:
        """The number of the lock that counts; 0 if there is none."""
        found = [each.name[5:] for each in self.folder.glob("lock-*")]
        return max((int(each) for each in found if each.isdigit()), default=0)

    def read(self, number: int) -> str:
        """What is in a lock, opened anew, which is when network file systems ask their server."""
        try:
            return self.path(number).read_text("utf-8") if number else ""
        except OSError:
            return ""

    def create(self, number: int) -> bool:
        """Try to be the next holder; whether we are."""
        flags = os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC
        try:
            descriptor = os.open(self.path(number), flags, 0o644)
        except FileExistsError:
            return False
        # Not every file system can: processes of this machine then wait for `PATIENCE` too.
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self.number, self.descriptor = number, descriptor
        self.write("working")
        if self.highest() != number:
            # We looked at an old listing: this number was another's, and is gone.
            os.close(descriptor)
            self.path(number).unlink(missing_ok=True)
            return False
        for each in self.folder.glob("lock-*"):
            if each != self.path(number):
                each.unlink(missing_ok=True)
        threading.Thread(target=self._beat, daemon=True).start()
        return True

    def is_unlocked(self, number: int) -> bool:
        """Whether the process that made a lock on this very kernel has ended."""
        try:
            descriptor = os.open(self.path(number), os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return False
        finally:
            os.close(descriptor)
        return True

    def path(self, number: int) -> Path:
        """A lock's file."""
        return self.folder / f"lock-{number}"

    def say(self, text: str) -> None:
        """Leave another word for those who wait, with the next sign of life."""
        self.said = text

    def write(self, state: str) -> None:
        """Write who we are, and a number that was not there before."""
        name = f"{socket.gethostname()} (process {os.getpid()})"
        fields = {"name": name, "boot": boot_id(), "state": state, "text": self.said[:LONGEST]}
        content = json.dumps({**fields, "beat": time.monotonic_ns()}).encode()
        # Always as long, so that one write replaces all and a reader never sees half of it.
        os.pwrite(self.descriptor, content.ljust(SIZE), 0)
        with contextlib.suppress(OSError):
            os.fsync(self.descriptor)

    def check(self) -> None:
        """Do nothing while we hold the lock.

        Raises:
            LockLost: Another process has taken over.
        """
        if self.is_lost or self.highest() != self.number:
            raise LockLost

    def release(self) -> None:
        """Let the next one in; what it finds is whole or can be resumed."""
        self.ended.set()
        if self.descriptor >= 0:
            with contextlib.suppress(OSError):
                self.write(RELEASED)
            os.close(self.descriptor)
            self.descriptor = -1

    def _beat(self) -> None:
        """Count up until released, and see whether the lock is still ours."""
        while not self.ended.wait(HEARTBEAT):
            try:
                self.write("working")
                self.is_lost = self.highest() != self.number
            except OSError as error:
                self.is_lost = error.errno in {errno.ESTALE, errno.ENOENT}
            if self.is_lost:
                return


def _holder(text: str) -> Holder:
    """Who wrote it; nameless where it is not whole."""
    try:
        found = json.loads(text)
        return Holder(found["name"], found["boot"], found["state"], found["text"])
    except (ValueError, KeyError, TypeError):
        return Holder("", "", "", "")


def boot_id() -> str:
    """What this kernel is called since it started, and no other one; empty where it does not say."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except OSError:
        return ""
