"""When a request is tried again, and how long to wait before that.

Full jitter, so that many clients of a server that comes back do not come at once, the server's own
Retry-After, and an end. What may be tried again is decided elsewhere.
"""

import asyncio
import math
import random
import time
from dataclasses import dataclass
from typing import Final


class RequestRate:
    """A bucket of `burst` tokens, full at first, that gets `qps` of them a second, as in client-go.

    A request takes one.
    """

    def __init__(self, qps: float, burst: int) -> None:
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


FIRST_CONTACT: Final = 10.0
"""Seconds for a server that has never answered: a wrong address shall not look like a wait."""
GIVE_UP_AFTER: Final = 90.0
"""Seconds for one that has: longer than an API server takes to start."""
WATCH_FOR: Final = 300
"""Seconds of one watch; a server tells where it is shortly before their end."""
_FIRST: Final = 0.1
"""Half of the seconds, at most, before the second try."""
_LONGEST: Final = 5.0
"""Seconds, at most, before any try, unless the server asks for more."""
_SHORTEST: Final = 0.1
"""Seconds that a try must have, or it is not made."""
_random: Final = random.SystemRandom()


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a client goes on trying."""

    first_contact: float = FIRST_CONTACT
    """Seconds until it gives up on a server that has never answered."""
    give_up_after: float = GIVE_UP_AFTER
    """Seconds until it gives up on one that has."""
    watch_for: int = WATCH_FOR
    """Seconds that a watch is asked for before another resumes it."""


class Tries:
    """The tries of one request, which may have fewer seconds than the client's patience."""

    def __init__(self, patience: Patience, within: float = math.inf) -> None:
        self.count = 0
        """Tries that have failed."""
        self._limit = min(patience.give_up_after, within)
        self._patience = patience
        self._began = time.monotonic()

    @property
    def seconds(self) -> float:
        """Since the first try began."""
        return time.monotonic() - self._began

    @property
    def left(self) -> float:
        """Seconds that this request still has."""
        return max(0.0, self._limit - self.seconds)

    def excuse(self, seconds: float) -> None:
        """Leave out time that was not spent on trying."""
        self._began += seconds

    def pause(
        self, known: bool, retry_after: float = 0.0, within: float = math.inf
    ) -> float | None:
        """Seconds to wait before the next try; None when there shall be none.

        Args:
            known: whether the server has ever answered.
            retry_after: seconds that the server asked for.
            within: seconds from the first try in which this failure may still pass.
        """
        self.count += 1
        limit = min(self._limit, within)
        if not known:
            limit = min(limit, self._patience.first_contact)
        left = limit - self.seconds - retry_after - _SHORTEST
        if left < 0.0:
            return None
        longest = min(_LONGEST, _FIRST * 2.0 ** min(self.count, 10), left)
        return retry_after + _random.uniform(0.0, longest)
