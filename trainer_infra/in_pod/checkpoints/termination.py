"""Whether the program was told to end: SIGTERM sets a flag, and the program ends at its next step.

Kubernetes sends it before it takes a pod away, torchrun to its workers, a supervisor on one machine when a run
is suspended. A second one changes nothing: SIGKILL comes when the time is over.
"""

from __future__ import annotations

import os
import signal
import threading
from typing import Any

EXIT_CODE = 128 + signal.SIGTERM
"""That of a program which a SIGTERM ended. With 0 a Job of Kubernetes would count the pod as done."""


class _Flag:
    # No lock, as an Event has: a second signal may come while the first one is being taken.
    is_up = False
    is_known_to_forks = False
    masks: list[set[signal.Signals | int]] = []  # noqa: RUF012  one for each fork that goes on


def listen() -> bool:
    """Take SIGTERM from now on, also where another part of the program took it since; only the main thread can, else False."""
    if threading.current_thread() is not threading.main_thread():
        return False
    if signal.getsignal(signal.SIGTERM) is not _take:
        signal.signal(signal.SIGTERM, _take)
    if not _Flag.is_known_to_forks:
        _Flag.is_known_to_forks = True
        os.register_at_fork(before=_hold, after_in_parent=_release, after_in_child=_forget)
    return True


def is_told() -> bool:
    """Whether it was."""
    return _Flag.is_up


def _take(_number: int, _frame: Any) -> None:
    _Flag.is_up = True


def _hold() -> None:
    _Flag.masks.append(signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM}))


def _release() -> None:
    signal.pthread_sigmask(signal.SIG_SETMASK, _Flag.masks.pop())


def _forget() -> None:
    # A process that is forked, such as a loader of data: its parent ends it so, at once if need be, and waits for it.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _release()
