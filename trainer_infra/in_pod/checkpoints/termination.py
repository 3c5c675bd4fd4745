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
    process = 0


_flag = _Flag()


def listen() -> bool:
    """Take SIGTERM from now on, also from whoever took it since; only the main thread can, else False."""
    if threading.current_thread() is not threading.main_thread():
        return False
    if signal.getsignal(signal.SIGTERM) is not _take or _flag.process != os.getpid():
        _flag.process = os.getpid()
        signal.signal(signal.SIGTERM, _take)
    return True


def is_told() -> bool:
    """Whether it was."""
    return _flag.is_up


def _take(number: int, _frame: Any) -> None:
    if os.getpid() == _flag.process:
        _flag.is_up = True
        return
    # A process that was forked, such as a loader of data: its parent ends it so, and waits until it is gone.
    signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
