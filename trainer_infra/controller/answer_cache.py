"""Answers of an API server, asked once for all that wait for one, and kept for a while.

A refusal is an answer too, None, so that a flood of refused requests costs little; refusals have a
room of their own, so that they push out nothing else.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

Value = TypeVar("Value")


class AnswerCache(Generic[Value]):
    """A bounded number of answers, each kept until its time; belongs to one event loop."""

    def __init__(self, most: int, clock: Callable[[], float]) -> None:
        """At most so many good answers, and so many refusals; the oldest go first. The clock never goes back."""
        self._most = most
        self._clock = clock
        self._good: OrderedDict[Hashable, tuple[Value | None, float]] = OrderedDict()
        self._refused: OrderedDict[Hashable, tuple[Value | None, float]] = OrderedDict()
        self._asking: dict[Hashable, asyncio.Task[Value | None]] = {}

    def __len__(self) -> int:
        return len(self._good) + len(self._refused)

    async def answer(
        self, key: Hashable, ask: Callable[[], Awaitable[tuple[Value | None, float]]]
    ) -> Value | None:
        """The answer that is kept, or that `ask` brings with the seconds for which it is good.

        Who waits and gives up does not end the question of the others. What `ask` raises, all of
        them get, and it is not kept.
        """
        kept = self._good.get(key) or self._refused.get(key)
        if kept is not None and self._clock() < kept[1]:
            return kept[0]
        asked = self._asking.get(key)
        if asked is None:
            asked = self._asking[key] = asyncio.create_task(self._ask(key, ask))
            asked.add_done_callback(_look_at_error)
        return await asyncio.shield(asked)

    async def _ask(
        self, key: Hashable, ask: Callable[[], Awaitable[tuple[Value | None, float]]]
    ) -> Value | None:
        try:
            value, seconds = await ask()
        finally:
            del self._asking[key]
        self._good.pop(key, None)
        self._refused.pop(key, None)
        room = self._refused if value is None else self._good
        if seconds > 0.0:
            room[key] = (value, self._clock() + seconds)
        while len(room) > self._most:
            room.popitem(last=False)
        return value


def _look_at_error(asked: "asyncio.Task[Value | None]") -> None:
    """Take note of an error for which no request waits any more, or asyncio complains of it."""
    if not asked.cancelled():
        asked.exception()
