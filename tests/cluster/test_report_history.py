"""Reports of a run, read from the logs of its pods while they are there."""

import json
from typing import Any

from tests.cluster.in_memory import Small
from tests.cluster.submissions import SECRET, Job
from tests.cluster.test_logs import FIRST, KEY, SECOND, TWO, report, run
from tests.cluster.world import RUNNING, container, ended
from trainer_infra.cluster import run_lookup
from trainer_infra.runs.report_history import PastReport


def past(progress: int, second: int, node: str = "node-0-0") -> PastReport:
    time = f"2026-11-21T12:00:0{second}Z"
    return PastReport(time, node, progress, None, {"loss": f"0.{second}"})


async def history(small: Small) -> tuple[PastReport, ...]:
    return await run_lookup.past_reports(small.session, KEY)


def test_reports_of_several_nodes_come_in_order_of_time_each_once() -> None:
    async def case() -> None:
        small = Small()
        await small.submit(TWO)
        assert await history(small) == ()
        await small.runs(SECOND)
        await small.runs(FIRST)
        small.says("epoch 1", report(10, 1), report(10, 1), f"[rank0]: {report(20, 3)}", pod=FIRST)
        small.says(report(15, 2), "trainer-infra-report: {}", pod=SECOND)
        assert await history(small) == (past(10, 1), past(15, 2, "node-0-1"), past(20, 3))

    run(case())


def test_where_a_pod_is_gone_its_last_report_is_left() -> None:
    async def case() -> None:
        small = Small()
        await small.submit(TWO)
        status = json.loads(report(100, 4).partition(": ")[2])
        await small.exits(0, FIRST, json.dumps(status))
        await small.runs(SECOND)
        small.says(report(30, 3), pod=SECOND)
        assert await history(small) == (past(30, 3, "node-0-1"), past(100, 4))

    run(case())


def test_no_metric_shows_a_secret() -> None:
    async def case() -> None:
        small = Small()
        await small.submit(Job("default", secrets={"p": SECRET}))
        await small.runs()
        small.says(report(10, 1).replace("0.1", f"of {SECRET}"))
        (found,) = await history(small)
        assert found.metrics == {"loss": "of <secret>"}

    run(case())


def test_the_log_of_the_try_before_comes_first() -> None:
    async def case() -> None:
        small = Small()
        await small.submit()
        again: dict[str, Any] = container(RUNNING, ended(1), restarts=1)
        await small.pod(phase="Running", containerStatuses=[again])
        small.says(report(10, 1))
        # The double has one log of a container: it is both, and a report that is told twice is one.
        assert await history(small) == (past(10, 1),)

    run(case())
