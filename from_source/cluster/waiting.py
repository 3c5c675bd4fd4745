"""Waiting for what another process does."""

import time
from collections.abc import Callable
from typing import Final

_STEP: Final = 0.05
"""Seconds between two looks."""


def wait_until(happened: Callable[[], bool], seconds: float) -> bool:
    """Look again and again; whether it happened within so many seconds."""
    end = time.monotonic() + seconds
    while not happened():
        if time.monotonic() > end:
            return False
        time.sleep(_STEP)
    return True
