"""Each TrainJob is in the queue once, and with one worker at a time."""

import asyncio
import gc
import tracemalloc
from collections import Counter
from collections.abc import Coroutine
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from trainer_infra.controller.informer import ObjectKey
from trainer_infra.controller.work_queue import WorkQueue

A, B = ObjectKey("n", "a"), ObjectKey("n", "b")


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(work)


def test_one_that_is_added_twice_is_taken_once() -> None:
    async def work() -> None:
        queue = WorkQueue()
        for key in (A, A, B):
            queue.add(key)
        assert [await queue.take(), await queue.take()] == [A, B]
        assert len(queue) == 0

    run(work())


def test_one_that_is_added_while_a_worker_has_it_is_taken_once_more_afterwards() -> None:
    async def work() -> None:
        queue = WorkQueue()
        queue.add(A)
        key = await queue.take()
        queue.add(A)
        queue.add(A)
        assert len(queue) == 0
        queue.done(key)
        assert await queue.take() == A
        queue.done(A)
        assert queue.state().running == ()
        assert len(queue) == 0

    run(work())


def test_a_worker_that_waits_gets_what_is_added_later() -> None:
    async def work() -> None:
        queue = WorkQueue()
        takers = [asyncio.create_task(queue.take()) for _ in range(2)]
        await asyncio.sleep(0)
        queue.add(A)
        queue.add(B)
        assert sorted(await asyncio.gather(*takers)) == [A, B]

    run(work())


def test_nothing_is_lost_with_a_worker_that_ends_while_it_waits() -> None:
    async def work() -> None:
        queue = WorkQueue()
        ending = asyncio.create_task(queue.take())
        other = asyncio.create_task(queue.take())
        await asyncio.sleep(0)
        queue.add(A)
        ending.cancel()
        assert await other == A

    run(work())


def test_the_sooner_of_two_times_counts_and_an_add_more_than_both() -> None:
    async def work() -> None:
        queue = WorkQueue()
        queue.add_after(A, 3600)
        queue.add_after(A, 0.01)
        queue.add_after(A, 3600)
        assert await queue.take() == A
        queue.done(A)
        queue.add_after(B, 3600)
        queue.add(B)
        assert await queue.take() == B
        assert queue.state().later == ()

    run(work())


def test_one_that_fails_waits_longer_each_time_until_it_succeeds() -> None:
    async def work() -> None:
        queue = WorkQueue()
        waits = []
        for _ in range(8):
            queue.add(A)
            queue.done(await queue.take(), failed=True)
            ((_, seconds),) = queue.state().later
            waits.append(seconds)
        assert waits[-1] > waits[3] > waits[0]
        assert queue.state().failures == ((A, 8),)
        queue.add(A)
        queue.done(await queue.take())
        assert queue.state().failures == ()

    run(work())


class Played:
    """A queue in which a list of steps is played."""

    def __init__(self) -> None:
        self.queue = WorkQueue()
        self.held: list[ObjectKey] = []
        self.owed: Counter[ObjectKey] = Counter()

    async def play(self, step: str, key: ObjectKey) -> None:
        if step == "later":
            self.queue.add_after(key, 1e-6)
        elif step == "add":
            self.queue.add(key)
            self.owed[key] += 1
        elif step == "take" and len(self.queue):
            await self.look()
        elif self.held:
            self.queue.done(self.held.pop(0), failed=step == "failed")
        assert len(set(self.held)) == len(self.held)

    async def look(self) -> None:
        self.held.append(await self.queue.take())
        self.owed[self.held[-1]] = 0

    async def end(self) -> None:
        while self.held or any(self.owed.values()):
            if not self.held:
                await self.look()
            self.queue.done(self.held.pop())


@given(st.lists(st.sampled_from(("add", "take", "done", "failed", "later")), max_size=60))
def test_whatever_happens_every_add_is_followed_by_a_look(steps: list[str]) -> None:
    async def work() -> None:
        played = Played()
        for number, step in enumerate(steps):
            await played.play(step, ObjectKey("n", str(number % 3)))
        async with asyncio.timeout(60):
            await played.end()

    run(work())


def test_times_that_no_longer_count_take_no_memory() -> None:
    async def work() -> None:
        queue = WorkQueue()
        queue.add_after(B, 500.0)

        async def look_again_and_again() -> None:
            for _ in range(20_000):
                queue.add_after(A, 600.0)
                queue.add(A)
                queue.done(await queue.take())
                await asyncio.sleep(0)

        await look_again_and_again()
        gc.collect()
        tracemalloc.start()
        await look_again_and_again()
        gc.collect()
        grown, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert grown < 100_000

    run(work())


def test_those_that_are_preferred_go_first_and_each_goes_once() -> None:
    async def work() -> None:
        queue = WorkQueue()
        keys = [ObjectKey("n", str(number)) for number in range(40)]
        for key in keys:
            queue.add(key)
        queue.prefer(lambda key: key in keys[30:])
        taken = [await queue.take() for _ in keys]
        assert set(taken[:10]) == set(keys[30:])
        assert set(taken[10:]) == set(keys[:30])
        # One order of 30 in 10**32 is the same.
        assert taken[10:] != keys[:30]

    run(work())
