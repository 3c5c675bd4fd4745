"""Lines of a run's pods, and what is read from them."""

import asyncio
import json
from collections.abc import AsyncGenerator, Coroutine
from typing import Any, TypeVar

import pytest
from typing_extensions import override

from tests.cluster.in_memory import Small
from tests.cluster.submissions import Job
from tests.fake_api_server.memory import Memory
from trainer_infra.cluster.run_lookup import log_lines
from trainer_infra.errors import NotAvailable
from trainer_infra.kube.client import LogOf
from trainer_infra.kube.refusals import Unreachable
from trainer_infra.kube.resource import POD
from trainer_infra.runs.run import Failure, LogSelection, RunKey

T = TypeVar("T")

FIRST, SECOND = "tj-node-0-0-abcde", "tj-node-0-1-fghij"
KEY = RunKey("default", "tj")
TWO = Job("default", spec={"trainer": {"numNodes": 2}})


def report(progress: int, second: int) -> str:
    status = {
        "progressPercentage": progress,
        "metrics": [{"name": "loss", "value": f"0.{second}"}],
        "lastUpdatedTime": f"2026-11-21T12:00:0{second}Z",
    }
    return f"trainer-infra-report: {json.dumps(status)}"


def run(what: Coroutine[Any, Any, T]) -> T:
    async def limited() -> T:
        async with asyncio.timeout(30):
            return await what

    return asyncio.run(limited())


async def read(
    small: Small, pod: str | None = None, tail: int | None = None, *, follow: bool = False
) -> list[tuple[str, str]]:
    wanted = LogSelection(pod, tail, follow)
    return [each async for each in await log_lines(small.session, KEY, wanted)]


async def two_pods() -> Small:
    small = Small()
    await small.submit(TWO)
    await small.runs(SECOND)
    await small.runs(FIRST)
    small.says("a", report(10, 1), "b", pod=FIRST)
    small.says("c", pod=SECOND)
    return small


def test_the_lines_of_pods_come_in_order_without_reports() -> None:
    async def case() -> None:
        small = await two_pods()
        assert await read(small) == [(FIRST, "a"), (FIRST, "b"), (SECOND, "c")]
        assert await read(small, tail=1) == [(FIRST, "b"), (SECOND, "c")]

    run(case())


def test_a_line_in_which_a_bar_was_drawn_over_and_over_is_its_last_state() -> None:
    async def case() -> None:
        small = Small()
        await small.submit()
        await small.runs()
        small.says("\r0%|  |\r50%|█ |\r100%|██|", f"\r1/9\r2/9{report(10, 1)}", "\x1b[A", "end\r")
        shown = ["100%|██|", "2/9", "end"]
        assert await read(small) == [(FIRST, each) for each in shown]
        assert await read(small, tail=2) == [(FIRST, each) for each in shown[1:]]
        followed = asyncio.ensure_future(read(small, follow=True))
        await small.exits(1)
        await small.ends("Failed")
        assert await followed == [(FIRST, each) for each in shown]
        failed = await small.now()
        assert failed.failure is not None
        assert list(failed.failure.last_lines) == shown

    run(case())


@pytest.mark.parametrize("name", [SECOND, "tj-node-0-1"])
def test_one_pod_is_read_by_its_name_or_its_host_name(name: str) -> None:
    async def case() -> None:
        assert await read(await two_pods(), name) == [(SECOND, "c")]

    run(case())


def test_a_pod_that_never_was_is_refused() -> None:
    async def case() -> None:
        with pytest.raises(NotAvailable) as error:
            await read(await two_pods(), "tj-node-0-2")
        assert str(error.value) == (
            f"run default/tj has no pod tj-node-0-2; its pods are {FIRST}, {SECOND}"
        )

    run(case())


def test_a_run_that_is_not_there_has_no_logs() -> None:
    with pytest.raises(NotAvailable, match="there is no run default/tj in the cluster memory:"):
        run(read(Small()))


def test_following_waits_for_pods_and_ends_when_run_and_containers_have_ended() -> None:
    async def case() -> None:
        small = Small()
        await small.submit(TWO)
        found = asyncio.ensure_future(read(small, follow=True))
        await asyncio.sleep(0.1)
        await small.runs(FIRST)
        small.says("a", pod=FIRST)
        await asyncio.sleep(0.7)
        await small.runs(SECOND)
        small.says("b", pod=SECOND)
        await asyncio.sleep(0.7)
        small.says("c", report(50, 2), pod=FIRST)
        await small.exits(0, FIRST)
        await small.ends("Completed")
        await asyncio.sleep(0.7)
        assert not found.done()
        small.says("last", pod=SECOND)
        await small.exits(0, SECOND)
        assert await found == [(FIRST, "a"), (SECOND, "b"), (FIRST, "c"), (SECOND, "last")]

    run(case())


class Cut(Memory):
    """A connection that is lost after two lines, after four, and after six."""

    def __init__(self) -> None:
        super().__init__()
        self._cuts = iter((2, 4, 6))

    @override
    async def logs(self, wanted: LogOf) -> AsyncGenerator[str, None]:
        left = next(self._cuts, 100)
        async for line in super().logs(wanted):
            yield line
            left -= 1
            if left == 0:
                raise Unreachable("memory:", "read a log", 1, 0.0, "cut")


def test_a_lost_connection_is_taken_up_again_and_every_line_comes_once() -> None:
    async def case() -> None:
        small = Small(Cut())
        await small.submit()
        await small.runs()
        found = asyncio.ensure_future(read(small, follow=True))
        for index in range(8):
            small.says(str(index))
            await asyncio.sleep(0.01)
        await small.exits(0)
        await small.ends("Completed")
        assert await found == [(FIRST, str(index)) for index in range(8)]

    run(case())


def test_nobody_reads_on_when_the_reader_leaves() -> None:
    async def case() -> None:
        small = await two_pods()
        lines = await log_lines(small.session, KEY, LogSelection(None, None, follow=True))
        assert isinstance(lines, AsyncGenerator)
        assert await anext(lines) == (FIRST, "a")
        await lines.aclose()
        await small.session.last_seen.close()
        assert asyncio.all_tasks() == {asyncio.current_task()}

    run(case())


def test_progress_is_that_of_the_last_report_of_each_pod_and_the_runs_is_node_0s() -> None:
    async def case() -> None:
        small = await two_pods()
        small.says(report(30, 3), "noise", pod=FIRST)
        small.says(report(20, 5), pod=SECOND)
        now = await small.now()
        assert [(each.pod, each.progress, each.metrics) for each in now.nodes] == [
            (FIRST, 30, {"loss": "0.3"}),
            (SECOND, 20, {"loss": "0.5"}),
        ]
        assert now.status["trainerStatus"]["progressPercentage"] == 30

    run(case())


def test_the_last_twenty_lines_of_the_pod_that_failed_are_kept_with_the_run() -> None:
    async def case() -> None:
        small = Small()
        await small.submit()
        await small.runs()
        small.says(*(f"line {index}" for index in range(30)), report(10, 1), "the end")
        await small.exits(42)
        await small.ends("Failed")
        failed = await small.now()
        kept = (*(f"line {index}" for index in range(11, 30)), "the end")
        assert failed.failure == Failure(FIRST, "Error", 42, kept)
        await small.client.delete(POD, FIRST, "default")
        assert await small.now() == failed
        gone = "(the pod is gone, and its log with it)"
        assert await read(small) == [(FIRST, line) for line in (gone, *kept)]

    run(case())
