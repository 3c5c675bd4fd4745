"""Whether the program was told to end: SIGTERM sets a flag, and the program ends at its next step.

Kubernetes sends it before it takes a pod away, torchrun to its workers, a supervisor on one machine when a run
is suspended. A second one changes nothing: SIGKILL comes when the time is over.
"""

from __future__ import annotations

import signal
import threading

EXIT_CODE = 128 + signal.SIGTERM
"""That of a program which a SIGTERM ended. With 0 a Job of Kubernetes would count the pod as done."""

_told = threading.Event()


def listen() -> bool:
    """Take SIGTERM from now on, and say whether that is possible: only the main thread may."""
    if threading.current_thread() is not threading.main_thread():
        return False
    signal.signal(signal.SIGTERM, lambda _number, _frame: _told.set())
    return True


def is_told() -> bool:
    """Whether it was."""
    return _told.is_set()
