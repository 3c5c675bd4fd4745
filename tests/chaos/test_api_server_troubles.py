"""The API server restarts, ends watches, refuses, loses answers, and says nothing at all, under load."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from from_source.cluster import up
from tests.chaos.controller_process import controller
from tests.chaos.fault_proxy import HARMS, Faults, proxied
from tests.chaos.train_jobs import mixed
from tests.chaos.trial import trial

DEADLINE = 20
"""Seconds of the TrainJobs of samples that run for too long."""
RESTARTS = 6
"""Of the API server, at most: JobSet's own manager ends at each, its webhook with it, and the kubelet starts it
again after a pause that doubles."""
pytestmark = pytest.mark.timeout(7_200)
SIZES = [(12, DEADLINE), pytest.param(500, 120, marks=pytest.mark.soak)]
WATCHES = Faults(watch_lasts=1.5)
ANSWERS = Faults(writes=0.2, reads=0.05)
FAULTS = {"watches cut and expired": WATCHES, "answers refused, late and lost": ANSWERS}


@asynccontextmanager
async def restarts(pause: float) -> AsyncIterator[list[float]]:
    """An API server that restarts again and again, at least once; for how long it was away each time."""
    server, away, ending = up.component("kube-apiserver"), list[float](), asyncio.Event()

    def restart() -> None:
        server.stop()
        server.start()

    async def go_on() -> None:
        while not (away and ending.is_set()) and len(away) < RESTARTS:
            began = time.monotonic()
            await asyncio.to_thread(restart)
            away.append(time.monotonic() - began)
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await ending.wait()

    restarting = asyncio.create_task(go_on())
    try:
        yield away
    finally:
        ending.set()
        await restarting


@pytest.mark.parametrize(("count", "deadline"), SIZES)
def test_restarts_of_the_api_server_lose_and_double_nothing(
    count: int, deadline: int, cluster: Path, tmp_path: Path, report: Callable[..., None]
) -> None:
    async def work() -> dict[str, Any]:
        async with (
            trial(cluster, f"restarts-{count}") as going,
            controller(tmp_path, cluster) as one,
        ):
            async with restarts(10.0) as away:
                await going.post(mixed(count, deadline))
                await going.resume()
            await going.settled()
            assert not one.has_ended, one.log()
        return {"chaos": "API server restarts", "trainjobs": count, "restarts": len(away)}

    report(**asyncio.run(work()))


@pytest.mark.parametrize(("count", "deadline"), SIZES)
@pytest.mark.parametrize("what", FAULTS)
def test_what_a_proxy_does_to_requests_loses_and_doubles_nothing(
    what: str, count: int, deadline: int, cluster: Path, tmp_path: Path, report: Callable[..., None]
) -> None:
    faults = FAULTS[what]

    async def work() -> dict[str, Any]:
        namespace = f"proxy-{sorted(FAULTS).index(what)}-{count}"
        async with proxied(cluster, faults) as proxy:
            kubeconfig = proxy.kubeconfig(tmp_path / "kubeconfig")
            async with (
                trial(cluster, namespace) as going,
                controller(tmp_path, kubeconfig) as one,
            ):
                rate = await going.run(mixed(count, deadline))
                assert not one.has_ended, one.log()
                counts, memory = dict(proxy.counts), one.rss()
        assert "a bug" not in one.logs()
        wanted = (
            {"410", "cut watch"} if faults.watch_lasts else set(HARMS) if count > 100 else set()
        )
        assert counts.keys() >= wanted
        return {
            "chaos": what,
            "trainjobs": count,
            "harms": counts,
            "trainjobs_per_second": rate,
            "rss_mib": round(memory, 1),
        }

    report(**asyncio.run(work()))
