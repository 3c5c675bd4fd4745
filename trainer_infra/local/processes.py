"""Processes of this machine: who they are, what they leave behind, and how they are ended.

Identity is a pid with its start time: nothing is signalled whose start time differs, and nothing is
found by its name. Every process of a run carries a mark in its environment, which its descendants
inherit.
"""

import ctypes
import os
import signal
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import psutil

from trainer_infra import names

_PR_SET_PDEATHSIG: Final = 1
_PR_SET_CHILD_SUBREAPER: Final = 36
_KILL_TIMEOUT: Final = 10.0
_SAME: Final = 0.015
"""Seconds by which two readings of one start time may differ: the kernel counts 1/100 s."""


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """One process, whatever happens to its pid later."""

    pid: int
    """Process id."""
    start: float
    """Seconds after boot, which setting the clock does not move."""


def identity_of(pid: int) -> ProcessIdentity | None:
    """The process that has this pid now; None when none has, or only a zombie."""
    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return None
        return ProcessIdentity(pid, round(process.create_time() - psutil.boot_time(), 2))
    except psutil.Error:
        return None


def send_signal(who: ProcessIdentity, number: int) -> None:
    """Send a signal to that very process, unless it is gone."""
    now = identity_of(who.pid)
    if now is not None and abs(now.start - who.start) < _SAME:
        with suppress(ProcessLookupError):
            os.kill(who.pid, number)


def die_with_parent(parent: int, number: int = signal.SIGKILL) -> None:
    """Have the kernel send this process a signal when its parent dies; ends now if it has.

    Only Linux can; elsewhere the guard alone ends what a supervisor leaves behind.
    """
    _prctl(_PR_SET_PDEATHSIG, number)
    if os.getppid() != parent:
        os._exit(1)


def adopt_orphans() -> None:
    """Make this process the parent of descendants whose own parent dies (Linux)."""
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def _prctl(option: int, value: int) -> None:
    if _LIBC is not None:
        _LIBC.prctl(option, ctypes.c_ulong(value), 0, 0, 0)


_LIBC: Final = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None
# Loaded before any fork: a child of a process with threads may not load libraries.


def descendants(pid: int) -> list[psutil.Process]:
    """The processes below one, zombies left out."""
    try:
        return [each for each in psutil.Process(pid).children(recursive=True) if _lives(each)]
    except psutil.Error:
        return []


def marked_processes(processes: Iterable[psutil.Process], mark: str) -> list[psutil.Process]:
    """Those of them whose environment has this mark, or one that begins with it and a `/`."""
    return [
        each
        for each in processes
        if f"{_environment(each).get(names.PROCESS_MARK, '')}/".startswith(f"{mark}/")
    ]


def _environment(process: psutil.Process) -> Mapping[str, str]:
    """The variables of a process; none of one that has ended, or is another user's."""
    try:
        return process.environ()
    except (psutil.Error, OSError):
        return {}


def in_session(processes: Iterable[psutil.Process], leader: int) -> list[psutil.Process]:
    """Those of them in the session that this pid began."""
    found = []
    for each in processes:
        try:
            if os.getsid(each.pid) == leader:
                found.append(each)
        except OSError:
            continue
    return found


def find_everywhere(mark: str) -> list[psutil.Process]:
    """The marked processes of the whole machine, whatever their parent is by now."""
    return [each for each in marked_processes(psutil.process_iter(), mark) if _lives(each)]


def virtual_environments() -> frozenset[str]:
    """The virtual environments that processes of this user run in, whatever started them."""
    every = map(_environment, psutil.process_iter())
    return frozenset(each.get("VIRTUAL_ENV", "") for each in every) - {""}


def _lives(process: psutil.Process) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def kill_processes(processes: Iterable[psutil.Process]) -> None:
    """SIGKILL each, by identity: psutil refuses a pid that another process has by now."""
    for each in processes:
        try:
            each.kill()
        except psutil.Error:
            continue


def kill_descendants(pid: int) -> None:
    """SIGKILL everything below a process until nothing is left, or time is up."""
    _killed(lambda: descendants(pid))


def kill_everywhere(mark: str) -> bool:
    """SIGKILL every marked process of the machine; whether none is left."""
    return _killed(lambda: find_everywhere(mark))


def _killed(find: Callable[[], list[psutil.Process]]) -> bool:
    until = time.monotonic() + _KILL_TIMEOUT
    while left := find():
        if time.monotonic() > until:
            return False
        kill_processes(left)
        time.sleep(0.01)
    return True
