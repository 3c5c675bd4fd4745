"""How fast a training goes: samples per second over a window of time, and how long the rest takes.

The time comes from a clock that is passed in.
"""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

WINDOW = 60.0
"""Seconds that a rate is taken over."""
MARKS = 30
"""Points within the window at which it is noted how far the training was."""
LEAST = 5
"""Points that are kept though they are older: steps may take minutes."""


@dataclass(frozen=True)
class _Mark:
    """How far a training was at one moment."""

    at: float
    done: float
    samples: float


class Pace:
    """What is done so far, and when."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, window: float = WINDOW) -> None:
        self._clock = clock
        self._window = window
        self._marks: deque[_Mark] = deque()
        self._now = _Mark(0.0, 0.0, 0.0)

    def begin(self, done: float = 0.0) -> None:
        """Begin to count, with what a checkpoint has done already, as a share from 0 to 1."""
        self._now = _Mark(self._clock(), done, 0.0)
        self._marks = deque([self._now])

    def advance(self, done: float, samples: float) -> None:
        """Count what was done.

        Args:
            done: share of the whole, 0 to 1; 0 where the whole is not known.
            samples: since the last call.
        """
        if not self._marks:
            self.begin()
        now = self._now = _Mark(self._clock(), done, self._now.samples + samples)
        if now.at - self._marks[-1].at >= self._window / MARKS:
            self._marks.append(now)
        while len(self._marks) > LEAST and now.at - self._marks[0].at > self._window:
            self._marks.popleft()

    @property
    def samples_per_second(self) -> float | None:
        """Over the window; None before there are any."""
        return self._rate(self._now.samples, self._marks[0].samples) if self._marks else None

    @property
    def remaining(self) -> float | None:
        """Seconds to the end at the window's rate; None where the whole is not known."""
        rate = self._rate(self._now.done, self._marks[0].done) if self._marks else None
        return None if rate is None else max(0.0, 1 - self._now.done) / rate

    def _rate(self, now: float, then: float) -> float | None:
        took = self._now.at - self._marks[0].at
        return (now - then) / took if took > 0 and now > then else None
