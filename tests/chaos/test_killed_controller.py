"""The controller is killed again and again while TrainJobs of every kind go through their lives."""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.chaos.controller_process import ControllerProcess, controller
from tests.chaos.train_jobs import mixed
from tests.chaos.trial import trial

EVERY = 2.0
"""Seconds between two kills, at most, once a process is ready."""
pytestmark = pytest.mark.timeout(7_200)
SIZES = [(30, 20), pytest.param(500, 120, marks=pytest.mark.soak)]
"""TrainJobs, and the deadline of those that run for too long."""


@asynccontextmanager
async def killed_again_and_again(process: ControllerProcess) -> AsyncIterator[list[float]]:
    """A SIGKILL every two seconds; what each process had for memory."""
    chance, seen = random.Random(17), list[float]()

    async def kill() -> None:
        while True:
            await asyncio.sleep(chance.uniform(0.0, EVERY))
            seen.append(process.rss())
            process.kill()
            await process.begin()

    killing = asyncio.create_task(kill())
    try:
        yield seen
        assert not killing.done(), killing
    finally:
        killing.cancel()
        await asyncio.gather(killing, return_exceptions=True)


@pytest.mark.parametrize(("count", "deadline"), SIZES)
def test_each_trainjob_has_one_jobset_however_often_the_controller_is_killed(
    count: int, deadline: int, cluster: Path, tmp_path: Path, report: Callable[..., None]
) -> None:
    async def work() -> dict[str, Any]:
        began = time.monotonic()
        async with (
            trial(cluster, f"killed-{count}") as going,
            controller(tmp_path, cluster) as one,
            killed_again_and_again(one) as memory,
        ):
            rate = await going.run(mixed(count, deadline))
        assert one.kills > 2
        return {
            "chaos": "controller killed",
            "trainjobs": count,
            "kills": one.kills,
            "trainjobs_per_second": rate,
            "most_rss_mib": round(max(memory), 1),
            "seconds": round(time.monotonic() - began, 1),
        }

    report(**asyncio.run(work()))
