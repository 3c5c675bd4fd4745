"""How many requests a client makes in a second: a bucket of tokens, as client-go has it.

Without a rate, requests are limited only by how many are in flight.
"""

import asyncio
import time


class RequestRate:
    """A bucket of `burst` tokens that gets `qps` of them a second; a request takes one."""

    def __init__(self, qps: float, burst: int) -> None:
        """A full bucket.

        Args:
            qps: requests per second, more than 0.
            burst: requests at once, at least 1.
        """
        self._qps = qps
        self._burst = max(1, burst)
        self._tokens = float(self._burst)
        self._at = time.monotonic()

    async def take(self) -> None:
        """Wait until there is a token, and take it; first come, first served."""
        now = time.monotonic()
        self._tokens = min(self._burst, self._tokens + (now - self._at) * self._qps)
        self._at = now
        self._tokens -= 1.0
        if self._tokens < 0.0:
            # Who comes next owes a token more, and so waits for longer.
            await asyncio.sleep(-self._tokens / self._qps)
