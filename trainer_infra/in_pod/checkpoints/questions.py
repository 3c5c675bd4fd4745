"""When the processes of a training ask each other whether one of them was told to end."""

from __future__ import annotations

import time
from collections.abc import Callable

from trainer_infra.in_pod.checkpoints.ranks import Ranks

LONGEST = 0.5
"""Seconds from one question to the next, where steps are shorter."""
SHARE = 200
"""The training between two questions takes this many times as long as one."""


class Questions:
    """Questions that any process may answer with yes, asked at every call, or more rarely where steps are short.

    How many calls are left out is agreed with each question, so that all processes ask at the same one. Calls of
    one kind take about the same time: steps, or parts of an evaluation.
    """

    def __init__(self, ranks: Ranks, clock: Callable[[], float] = time.monotonic) -> None:
        self._ranks = ranks
        self._clock = clock
        self._left_out = 0
        self._calls = 0
        self._answered_at: float | None = None
        self._cost = 0.0

    def ask(self, *answers: bool) -> tuple[bool, ...]:
        """Of each question whether any process says yes; no for all of them at a call that is left out."""
        self._calls += 1
        if self._calls <= self._left_out:
            return (False,) * len(answers)
        began = self._clock()
        *said, left_out = self._ranks.most(*answers, self._can_leave_out(began))
        self._answered_at = self._clock()
        self._cost = self._answered_at - began
        self._calls, self._left_out = 0, left_out
        return tuple(bool(each) for each in said)

    def _can_leave_out(self, now: float) -> int:
        if self._answered_at is None or self._ranks.size == 1:
            return 0
        step = max(1e-6, (now - self._answered_at) / self._calls)
        return int(min(SHARE * self._cost, LONGEST) / step)
