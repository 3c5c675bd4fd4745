"""Answers that are asked for once, kept for a while, and bounded."""

import asyncio
from dataclasses import dataclass

import pytest

from trainer_infra.controller.answer_cache import AnswerCache


@dataclass
class Clock:
    now: float = 0.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Question:
    """Counts how often it is asked; it waits where a gate is closed."""

    value: str | None
    seconds: float = 10.0
    asked: int = 0
    gate: asyncio.Event | None = None
    error: Exception | None = None

    async def __call__(self) -> tuple[str | None, float]:
        self.asked += 1
        if self.gate is not None:
            await self.gate.wait()
        if self.error is not None:
            raise self.error
        return self.value, self.seconds


@pytest.mark.parametrize("value", ["good", None])
def test_an_answer_is_kept_for_its_seconds(value: str | None) -> None:
    async def check() -> None:
        clock = Clock()
        cache: AnswerCache[str] = AnswerCache(5, clock)
        question = Question(value)
        assert [await cache.answer("a", question) for _ in range(3)] == [value] * 3
        clock.now = 9.9
        await cache.answer("a", question)
        assert question.asked == 1
        clock.now = 10.0
        await cache.answer("a", question)
        assert question.asked == 2

    asyncio.run(check())


def test_what_is_good_for_no_time_is_not_kept() -> None:
    async def check() -> None:
        cache: AnswerCache[str] = AnswerCache(5, Clock())
        for seconds in (0.0, -5.0, float("nan")):
            assert await cache.answer("a", Question("good", seconds)) == "good"
        assert len(cache) == 0

    asyncio.run(check())


def test_all_that_wait_get_one_answer_also_when_the_first_gives_up() -> None:
    async def check() -> None:
        cache: AnswerCache[str] = AnswerCache(5, Clock())
        question = Question("good", gate=asyncio.Event())
        waiting = [asyncio.create_task(cache.answer("a", question)) for _ in range(5)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        await asyncio.sleep(0)
        assert question.gate is not None
        question.gate.set()
        assert await asyncio.gather(*waiting[1:]) == ["good"] * 4
        assert waiting[0].cancelled()
        assert question.asked == 1

    asyncio.run(check())


def test_an_error_goes_to_all_and_is_not_kept() -> None:
    async def check() -> None:
        cache: AnswerCache[str] = AnswerCache(5, Clock())
        failing = Question(None, error=OSError("no"))
        asked = (cache.answer("a", failing) for _ in range(3))
        found = await asyncio.gather(*asked, return_exceptions=True)
        assert [type(each) for each in found] == [OSError] * 3
        assert await cache.answer("a", Question("good")) == "good"

    asyncio.run(check())


def test_refusals_push_out_no_good_answer() -> None:
    async def check() -> None:
        cache: AnswerCache[str] = AnswerCache(3, Clock())
        good = Question("good")
        await cache.answer("g", good)
        for number in range(100):
            await cache.answer(number, Question(None))
        assert await cache.answer("g", good) == "good"
        assert (good.asked, len(cache)) == (1, 4)
        for number in range(100):
            await cache.answer(f"g{number}", Question("other"))
        assert len(cache) == 6
        await cache.answer("g", good)
        assert good.asked == 2

    asyncio.run(check())


def test_a_refused_key_that_is_good_later_is_good() -> None:
    async def check() -> None:
        clock = Clock()
        cache: AnswerCache[str] = AnswerCache(3, clock)
        assert await cache.answer("a", Question(None)) is None
        clock.now = 11.0
        assert await cache.answer("a", Question("good", 100.0)) == "good"
        clock.now = 50.0
        assert await cache.answer("a", Question(None)) == "good"
        assert len(cache) == 1

    asyncio.run(check())
