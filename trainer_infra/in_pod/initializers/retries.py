"""Requests that fail for a reason which may pass are sent again."""

from __future__ import annotations

import random
import time

from trainer_infra.in_pod.initializers.failure import DownloadFailure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    Answer = TypeVar("Answer")

LONGEST_PAUSE = 16.0
"""Seconds between two attempts."""


def with_attempts(attempts: int, request: Callable[[], Answer]) -> Answer:
    """The answer of a request, which is sent at most so often.

    Raises:
        DownloadFailure: The last attempt failed, or one for a reason that does not pass.
    """
    for tries in range(1, attempts):
        try:
            return request()
        except DownloadFailure as failure:  # noqa: PERF203  a request takes longer
            if not failure.may_pass:
                raise
            time.sleep(pause(tries))
    return request()


def pause(tries: int) -> float:
    """Seconds to wait after so many tries: twice as long each time, and never the same for all."""
    longest = min(LONGEST_PAUSE, 2.0 ** (tries - 1))
    return longest * random.uniform(0.5, 1.0)  # noqa: S311  no secret
