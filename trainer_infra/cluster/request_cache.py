"""Answers of the server that are shared by everyone who asks within a moment.

A refresh of hundreds of runs asks for one list of each kind, not for each run.
Lives in one event loop.
"""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Hashable
from typing import Any, Final, TypeVar

T = TypeVar("T")

AGE: Final = 0.9
"""Seconds that an answer is used: a gate looks once a second. One that took longer to come is used
as long again as it took, so that large lists are not read for each of those who want a part."""


class _Answer:
    """An answer that is there or on its way."""

    def __init__(self, asked: "asyncio.Task[Any]", age: float) -> None:
        self.task = asked
        self._age = age
        self._began = time.monotonic()
        self._until = math.inf
        asked.add_done_callback(self._came)

    def _came(self, _task: object) -> None:
        now = time.monotonic()
        self._until = now + max(self._age - (now - self._began), now - self._began)

    def serves(self, now: float) -> bool:
        """Whether it is new enough, and no failure."""
        failed = self.task.done() and (self.task.cancelled() or self.task.exception() is not None)
        return now <= self._until and not failed


class RequestCache:
    """What was asked lately, by whatever names it."""

    def __init__(self) -> None:
        self._answers: dict[Hashable, _Answer] = {}

    async def answer(self, key: Hashable, ask: Callable[[], Awaitable[T]], age: float = AGE) -> T:
        """The answer to `ask`, or the one that another caller just got for the same key, used for so many seconds."""
        now = time.monotonic()
        known = self._answers.get(key)
        if known is None or not known.serves(now):
            self._answers = {
                each: answer for each, answer in self._answers.items() if answer.serves(now)
            }
            known = _Answer(asyncio.ensure_future(ask()), age)
            self._answers[key] = known
        # Who gives up does not take the answer from the others.
        result: T = await asyncio.shield(known.task)
        return result

    def forget(self) -> None:
        """Ask everything anew, because something was written."""
        self._answers = {}
