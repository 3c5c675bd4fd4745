"""A controller whose clock is wrong by two hours, or jumps, does what one with a right clock does.

Who leads is found with the time since boot. Deadlines and times to live compare what Kubernetes has written
with the API server's own time. So nothing ends two hours early, or two hours late.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from from_source.cluster import faketime
from tests.chaos.controller_process import controller
from tests.chaos.replicas import two_replicas
from tests.chaos.train_jobs import KINDS, Posted, mixed
from tests.chaos.trial import USER, is_true, trial, until
from trainer_infra import names
from trainer_infra.json_values import JSONObject
from trainer_infra.kube import http
from trainer_infra.kube.client import KubeClient
from trainer_infra.kube.refusals import NotFound
from trainer_infra.kube.resource import JOBSET, TRAIN_JOB

HOUR = 3600
OFFSETS = ("+2h", "-2h")
BY_NAME = {each.name: each for each in KINDS}
pytestmark = pytest.mark.timeout(7_200)
CASES = [
    ("jumps", 20, 25),
    *(pytest.param(each, 200, 90, marks=pytest.mark.soak) for each in (*OFFSETS, "jumps")),
]
"""What is wrong with the clock, TrainJobs, and the deadline of those that run for too long."""


@asynccontextmanager
async def jumping(file: Path) -> AsyncIterator[None]:
    """A clock that is set two hours on, two hours back and right again, every second."""

    async def jump() -> None:
        for offset in cycle((*OFFSETS, "+0")):
            set_clock(file, offset)
            await asyncio.sleep(1.0)

    jumps = asyncio.create_task(jump())
    try:
        yield
        assert not jumps.done(), jumps
    finally:
        jumps.cancel()
        await asyncio.gather(jumps, return_exceptions=True)


def set_clock(file: Path, offset: str) -> None:
    """Set the clock of the processes that follow a file."""
    partial = file.with_suffix(".partial")
    partial.write_text(f"{offset}\n")
    partial.rename(file)


@pytest.mark.parametrize(("wrong", "count", "deadline"), CASES)
def test_replicas_with_a_right_and_a_wrong_clock_lead_in_turn(
    wrong: str,
    count: int,
    deadline: int,
    cluster: Path,
    tmp_path: Path,
    report: Callable[..., None],
) -> None:
    clock = tmp_path / "clock"
    set_clock(clock, "+0")
    variables = faketime.followed(clock) if wrong == "jumps" else faketime.variables(wrong)

    async def work() -> dict[str, Any]:
        async with (
            jumping(clock),
            trial(
                cluster, f"clock-{OFFSETS.index(wrong) if wrong in OFFSETS else 2}-{count}"
            ) as going,
            two_replicas(
                cluster, tmp_path, going.client, {"right": {}, "wrong": variables}
            ) as both,
        ):
            posting = asyncio.create_task(going.post(mixed(count, deadline)))
            # Each of them leads twice: one is frozen, one is killed, whichever began.
            for lose in (both.freeze_and_thaw, both.kill, both.kill):
                await lose()
            await posting
            await going.resume()
            await going.settled()
            assert len(found := both.wrong_writes()) <= 1, found
            leaders = {each.proxy for each in both.writes if not each.is_lease}
            assert leaders == {"right", "wrong"}
        return {"chaos": f"one clock {wrong}", "trainjobs": count, "writes": len(both.writes)}

    report(**asyncio.run(work()))


@pytest.mark.parametrize("offset", OFFSETS)
def test_a_deadline_and_a_time_to_live_are_kept_by_the_api_servers_clock(
    offset: str, cluster: Path, tmp_path: Path
) -> None:
    place = f"time-{OFFSETS.index(offset)}"

    async def work() -> None:
        client = await http.connect_client(str(cluster))
        head = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": place}}
        await client.create(head, manager=USER)
        variables = faketime.variables(offset)
        try:
            async with controller(tmp_path, cluster, variables=variables):
                for each in timed(place):
                    await client.create(each, manager=USER)
                await until(lambda: has(client, place, "ends-soon", names.FAILED))
                await until(lambda: is_gone(client, place, "goes-soon"))
                await until(lambda: has(client, place, "goes-later", names.COMPLETE))
                await until(lambda: runs(client, place, "ends-later"))
                kept = await client.get(TRAIN_JOB, "ends-later", place)
                assert "conditions" not in kept["status"]
                assert await client.get(TRAIN_JOB, "goes-later", place)
        finally:
            await client.close()

    asyncio.run(work())


def timed(namespace: str) -> list[JSONObject]:
    """TrainJobs that end or go in some seconds, and in an hour."""
    late, torch = BY_NAME["late"], BY_NAME["torch"]
    living = {"goes-soon": 3, "goes-later": HOUR}
    made = [
        Posted("ends-soon", late, 10).value(namespace),
        Posted("ends-later", late, HOUR).value(namespace),
    ]
    for name, seconds in living.items():
        value = Posted(name, torch, 0).value(namespace)
        annotations = {names.TTL_SECONDS: str(seconds)}
        made.append({**value, "metadata": {**value["metadata"], "annotations": annotations}})
    return made


async def has(client: KubeClient, namespace: str, name: str, kind: str) -> bool:
    """Whether a TrainJob has a condition."""
    return is_true(await client.get(TRAIN_JOB, name, namespace), kind)


async def is_gone(client: KubeClient, namespace: str, name: str) -> bool:
    """Whether there is no TrainJob of a name any more."""
    with suppress(NotFound):
        return not await client.get(TRAIN_JOB, name, namespace)
    return True


async def runs(client: KubeClient, namespace: str, name: str) -> bool:
    """Whether a TrainJob counts the pods of its JobSet."""
    job = await client.get(TRAIN_JOB, name, namespace)
    assert await client.get(JOBSET, name, namespace)
    return any(each["active"] for each in (job.get("status") or {}).get("jobsStatus") or ())
