"""Two replicas: leaders are frozen past their Lease, go on, and are killed, and never do two of them write."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.chaos.replicas import two_replicas
from tests.chaos.train_jobs import mixed
from tests.chaos.trial import trial

REPLICAS: dict[str, dict[str, str]] = {"first": {}, "second": {}}
pytestmark = pytest.mark.timeout(7_200)
SIZES = [(40, 2, 25), pytest.param(500, 12, 120, marks=pytest.mark.soak)]
"""TrainJobs, how often a leader is lost, and the deadline of TrainJobs that run for too long."""


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
                await (replicas.kill if number % 2 else replicas.freeze_and_thaw)()
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
