"""Answers of the server that are shared by everyone who asks within a moment.

Called by `look`: a refresh of hundreds of runs asks for one list of each kind, not for each run.
Lives in one event loop.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

T = TypeVar("T")

AGE: Final = 0.9
"""Seconds that an answer is used, from when it was asked for: a gate looks once a second."""


@dataclass(frozen=True, slots=True)
class _Answer:
    task: "asyncio.Task[Any]"
    asked: float

    def serves(self, now: float) -> bool:
        """Whether it is new enough, and no failure."""
        failed = self.task.done() and (self.task.cancelled() or self.task.exception() is not None)
        return now - self.asked <= AGE and not failed


class Fresh:
    """What was asked lately, by whatever names it."""

    def __init__(self) -> None:
        self._answers: dict[Hashable, _Answer] = {}

    async def of(self, key: Hashable, ask: Callable[[], Awaitable[T]]) -> T:
        """The answer to `ask`, or the one that somebody else just got for the same key."""
        now = time.monotonic()
        known = self._answers.get(key)
        if known is None or not known.serves(now):
            self._answers = {
                each: answer for each, answer in self._answers.items() if answer.serves(now)
            }
            known = _Answer(asyncio.ensure_future(_asked(ask)), now)
            self._answers[key] = known
        # Who gives up does not take the answer from the others.
        result: T = await asyncio.shield(known.task)
        return result

    def forget(self) -> None:
        """Ask everything anew, because something was written."""
        self._answers = {}


async def _asked(ask: Callable[[], Awaitable[T]]) -> T:
    return await ask()
