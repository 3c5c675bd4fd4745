"""Which TrainJobs are to be looked at: one entry for each, now or at a time.

Informers add to it, workers take from it. A TrainJob is never with two workers at a time; one that is
added while a worker has it is looked at once more afterwards, however often it was added. One that
fails waits longer each time.
"""

import asyncio
import heapq
import random
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from trainer_infra.controller.informer import ObjectKey

FIRST_PAUSE: Final = 0.05
"""Seconds, at most, before the first retry."""
LONGEST_PAUSE: Final = 300.0
"""Seconds, at most, before any retry."""

_SPARE: Final = 100
"""Times that no longer count and are kept all the same, besides as many as do count."""

_random: Final = random.SystemRandom()


@dataclass(frozen=True, slots=True)
class QueueState:
    """What the queue holds, for metrics and for people."""

    ready: tuple[ObjectKey, ...]
    """Those that wait for a worker, the next first."""
    running: tuple[ObjectKey, ...]
    """Those that workers have."""
    later: tuple[tuple[ObjectKey, float], ...]
    """Those that are due later, with the seconds until then."""
    failures: tuple[tuple[ObjectKey, int], ...]
    """How often in a row a look has failed."""


class WorkQueue:
    """The queue of one process; use it in one event loop."""

    def __init__(self) -> None:
        self._ready: deque[ObjectKey] = deque()
        self._waiting: set[ObjectKey] = set()
        self._running: set[ObjectKey] = set()
        self._again: set[ObjectKey] = set()
        self._due: dict[ObjectKey, float] = {}
        self._times: list[tuple[float, ObjectKey]] = []
        self._failures: dict[ObjectKey, int] = {}
        self._takers: deque[asyncio.Future[None]] = deque()
        self._timer: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._ready)

    def add(self, key: ObjectKey) -> None:
        """It is to be looked at now."""
        self._due.pop(key, None)
        if key in self._running:
            self._again.add(key)
        elif key not in self._waiting:
            self._waiting.add(key)
            self._ready.append(key)
            self._wake()

    def add_after(self, key: ObjectKey, seconds: float) -> None:
        """It is to be looked at in so many seconds, or sooner where that was said before."""
        if seconds <= 0.0:
            self.add(key)
            return
        due = time.monotonic() + seconds
        if key in self._waiting or self._due.get(key, due) < due:
            return
        self._due[key] = due
        heapq.heappush(self._times, (due, key))
        if len(self._times) > 2 * len(self._due) + _SPARE:
            self._times = [(time_due, each) for each, time_due in self._due.items()]
            heapq.heapify(self._times)
        self._set_timer()

    def add_failed(self, key: ObjectKey) -> None:
        """A look has failed: it is to be looked at later, each time later than before."""
        count = self._failures.get(key, 0)
        self._failures[key] = count + 1
        longest = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(count, 20))
        self.add_after(key, _random.uniform(longest / 2, longest))

    def prefer(self, is_first: Callable[[ObjectKey], bool]) -> None:
        """Let some of those that wait go first, and the others in a new order.

        A process that ends soon again and again would otherwise always get as far as the one before.
        """
        shuffled = _random.sample(list(self._ready), len(self._ready))
        self._ready = deque(sorted(shuffled, key=lambda key: not is_first(key)))

    async def take(self) -> ObjectKey:
        """The next one; the caller must give it back with `done`."""
        while not self._ready:
            taker = asyncio.get_running_loop().create_future()
            self._takers.append(taker)
            try:
                await taker
            except asyncio.CancelledError:
                if taker.done() and not taker.cancelled():
                    self._wake()
                raise
        key = self._ready.popleft()
        self._waiting.discard(key)
        self._running.add(key)
        return key

    def done(self, key: ObjectKey, *, failed: bool = False) -> None:
        """A worker has looked at what `take` gave; a look that failed must be tried again."""
        self._running.discard(key)
        if not failed:
            self._failures.pop(key, None)
        if key in self._again:
            self._again.discard(key)
            self.add(key)
        elif failed:
            self.add_failed(key)

    def state(self) -> QueueState:
        """What it holds now."""
        now = time.monotonic()
        later = sorted((due - now, key) for key, due in self._due.items())
        return QueueState(
            tuple(self._ready),
            tuple(sorted(self._running)),
            tuple((key, max(0.0, seconds)) for seconds, key in later),
            tuple(sorted(self._failures.items())),
        )

    def _wake(self) -> None:
        while self._takers:
            taker = self._takers.popleft()
            if not taker.done():
                taker.set_result(None)
                return

    def _set_timer(self) -> None:
        """Wake at the first of the times; times that no longer count are dropped here."""
        while self._times and self._due.get(self._times[0][1]) != self._times[0][0]:
            heapq.heappop(self._times)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._times:
            loop = asyncio.get_running_loop()
            left = max(0.0, self._times[0][0] - time.monotonic())
            self._timer = loop.call_later(left, self._pass)

    def _pass(self) -> None:
        now = time.monotonic()
        while self._times and self._times[0][0] <= now:
            due, key = heapq.heappop(self._times)
            if self._due.get(key) == due:
                self.add(key)
        self._timer = None
        self._set_timer()
