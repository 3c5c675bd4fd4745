"""Large reviews of admission: judged beside the loop, one after the other, so that small ones go on.

One thread does the work: two would share one processor's time with the loop, and take twice as much
of it.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeVar

T = TypeVar("T")

LARGE: Final = 64 * 1024
"""Bytes of a review from which on it is one; to judge so much takes some milliseconds."""
_SECONDS: Final = 9.0
"""For a whole review: the API server waits 10 for its answer."""


class LargeReviews:
    """The thread, and the time that a review may take."""

    def __init__(self, seconds: float = _SECONDS) -> None:
        self.seconds = seconds
        self._executor = ThreadPoolExecutor(1, "large-reviews")

    async def done(self, work: Callable[..., T], *arguments: Any) -> T:
        """What the work gives, in its turn; a caller that stops waiting gives up the turn."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._executor, work, *arguments)
