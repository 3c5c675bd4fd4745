"""The controller's memory does not grow with the TrainJobs that came and went."""

import asyncio
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.chaos.controller_process import controller
from tests.chaos.train_jobs import KINDS, Posted
from tests.chaos.trial import Trial, is_true, trial, until
from trainer_infra import names
from trainer_infra.kube.client import ObjectSelection
from trainer_infra.kube.resource import JOBSET, TRAIN_JOB

WAVE = 100
"""TrainJobs that are there at a time."""
SIZES = [(60, 20), pytest.param(5_000, WAVE, marks=pytest.mark.soak)]
MEASURED = 3_000
"""TrainJobs at the end over which the memory must be flat; those before warm it up."""
SLOPE = 1.0
"""KiB of memory for each TrainJob, at most."""
MOST = 160.0
"""MiB of memory, at most."""
HELD = next(each for each in KINDS if each.name == "held")
OTHERS = tuple(each for each in KINDS if each.name in {"torch", "mpi", "failing"})
"""One in ten runs to its end; the others are held, so that the cluster keeps up."""


def wave(first: int, count: int) -> list[Posted]:
    """TrainJobs of names that were not there before."""
    numbers = range(first, first + count)
    kinds = {each: HELD if each % 10 else OTHERS[each // 10 % len(OTHERS)] for each in numbers}
    return [Posted(f"job-{each}", kinds[each], 0) for each in numbers]


def condition_of(posted: Posted) -> str:
    """What a TrainJob that is not resumed comes to."""
    return names.SUSPENDED if posted.kind is HELD else posted.kind.condition


async def come_and_go(going: Trial, jobs: Sequence[Posted]) -> None:
    """Create TrainJobs, see each as it must be, delete them, and see that nothing is left."""
    await going.post(jobs)

    async def are_right() -> bool:
        there = await going.train_jobs()
        found = await going.client.list(ObjectSelection(JOBSET, going.namespace))
        right = all(is_true(there[each.name], condition_of(each)) for each in jobs)
        return right and len(found.items) == len(jobs)

    await until(are_right)
    for each in jobs:
        await going.client.delete(TRAIN_JOB, each.name, going.namespace)
    going.posted.clear()
    going.deleted |= {each.name for each in jobs}

    async def are_gone() -> bool:
        kinds = (TRAIN_JOB, JOBSET)
        lists = [await going.client.list(ObjectSelection(each, going.namespace)) for each in kinds]
        return not any(each.items for each in lists)

    await until(are_gone)


@pytest.mark.timeout(7200)
@pytest.mark.parametrize(("count", "at_once"), SIZES)
def test_memory_is_flat_however_many_trainjobs_came_and_went(
    count: int, at_once: int, cluster: Path, tmp_path: Path, report: Callable[..., None]
) -> None:
    async def work() -> tuple[dict[int, float], float]:
        seen, began = dict[int, float](), time.monotonic()
        async with trial(cluster, f"memory-{count}") as going, controller(tmp_path, cluster) as one:
            for first in range(0, count, at_once):
                await come_and_go(going, wave(first, at_once))
                seen[first + at_once] = one.rss()
        return seen, round(count / (time.monotonic() - began), 2)

    seen, rate = asyncio.run(work())
    last = {number: rss for number, rss in seen.items() if number > count - MEASURED}
    slope = statistics.linear_regression(list(last), list(last.values())).slope * 1024
    line: dict[str, Any] = {"chaos": "TrainJobs come and go", "trainjobs": count, "rss_mib": seen}
    report(**line, kib_per_trainjob=round(slope, 3), trainjobs_per_second=rate)
    assert max(seen.values()) < MOST
    if count > MEASURED:
        assert slope < SLOPE
