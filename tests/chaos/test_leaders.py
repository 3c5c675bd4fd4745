"""Two replicas: leaders are frozen past their Lease, go on, and are killed, and never do two of them write."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.chaos.replicas import Replicas, two_replicas
from tests.chaos.train_jobs import mixed
from tests.chaos.trial import trial, until

AT_WORK = 10
"""Writes of a leader after which it is frozen."""
REPLICAS: dict[str, dict[str, str]] = {"first": {}, "second": {}}
SIZES = [(40, 2, 25), pytest.param(500, 12, 120, marks=pytest.mark.soak)]
"""TrainJobs, how often a leader is lost, and the deadline of TrainJobs that run for too long."""


async def freeze_and_thaw(replicas: Replicas) -> None:
    """The leader stands still until the other one leads, and then goes on: it must end, and write nothing."""
    leader = await replicas.leader()
    before = replicas.count_of(leader.name)

    async def is_at_work() -> bool:
        return replicas.count_of(leader.name) > before + AT_WORK

    await until(is_at_work)
    leader.freeze()
    await replicas.leader(but=leader.name)
    starts = leader.starts
    leader.thaw()

    async def has_ended() -> bool:
        return leader.starts > starts

    await until(has_ended)


async def kill(replicas: Replicas) -> None:
    """The leader is gone; the other one leads when the Lease has passed."""
    leader = await replicas.leader()
    leader.kill()
    await replicas.leader(but=leader.name)


@pytest.mark.parametrize(("count", "losses", "deadline"), SIZES)
def test_a_leader_that_is_frozen_or_killed_never_writes_beside_the_next(
    count: int,
    losses: int,
    deadline: int,
    cluster: Path,
    tmp_path: Path,
    report: Callable[..., None],
) -> None:
    async def work() -> dict[str, Any]:
        async with (
            trial(cluster, f"leaders-{count}") as going,
            two_replicas(cluster, tmp_path, going.client, REPLICAS) as replicas,
        ):
            jobs = mixed(count, deadline)
            for number in range(losses):
                begin, end = (count * each // losses for each in (number, number + 1))
                posting = asyncio.create_task(going.post(jobs[begin:end]))
                await (kill if number % 2 else freeze_and_thaw)(replicas)
                await posting
            await going.resume()
            await going.settled()
            # A request that is on its way as a process is stopped arrives all the same.
            assert len(wrong := replicas.wrong_writes()) <= losses, wrong
            starts = sum(each.starts for each in replicas.by_name.values())
        return {
            "chaos": "leaders frozen and killed",
            "trainjobs": count,
            "losses": losses,
            "starts": starts,
            "writes": len(replicas.writes),
        }

    report(**asyncio.run(work()))
