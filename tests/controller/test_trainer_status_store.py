"""Reports of one TrainJob: one is written at a time, the newest of those that wait goes next."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import pytest
from typing_extensions import override

from tests.fake_api_server.memory import Memory
from trainer_infra.controller.trainer_status_store import TrainerStatusStore
from trainer_infra.controller.training_metrics import TrainingMetrics
from trainer_infra.errors import NotAvailable
from trainer_infra.json_values import JSONObject
from trainer_infra.kube.client import KubeClient
from trainer_infra.kube.refusals import Conflict
from trainer_infra.kube.resource import TRAIN_JOB
from trainer_infra.progress.handler import Reporter, ReportRefusal

TIME = "2999-01-02T03:04:05Z"


class Gated(Memory):
    """Writes wait until the test lets one go on; it is an API server that is slow."""

    def __init__(self) -> None:
        super().__init__()
        self.gates: list[asyncio.Event] = []
        self.percents: list[int] = []
        self.errors: list[Exception] = []
        self.before: Callable[[], Awaitable[object]] | None = None

    @override
    def within(self, seconds: float) -> KubeClient:
        return self

    @override
    async def patch_status(
        self, value: JSONObject, *, manager: str, force: bool = True
    ) -> JSONObject:
        gate = asyncio.Event()
        self.gates.append(gate)
        self.percents.append(value["status"]["trainerStatus"]["progressPercentage"])
        await gate.wait()
        if self.errors:
            raise self.errors.pop()
        if self.before:
            await self.before()
        return await super().patch_status(value, manager=manager, force=force)


class Jobs:
    """A store with one TrainJob, and reports that wait in it."""

    def __init__(self, metrics: TrainingMetrics | None = None) -> None:
        self.client = Gated()
        self.store = TrainerStatusStore(self.client, metrics)
        self.uid = ""

    async def create(self) -> None:
        for value in (
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ns"}},
            {
                "apiVersion": TRAIN_JOB.api_version,
                "kind": TRAIN_JOB.kind,
                "metadata": {"name": "tj", "namespace": "ns"},
                "spec": {"runtimeRef": {"name": "r"}},
            },
        ):
            stored = await self.client.apply(value, manager="test")
            self.uid = stored["metadata"]["uid"]

    async def report(self, percent: int) -> "asyncio.Task[bool]":
        """A report that has come as far as it can."""
        status = {"progressPercentage": percent, "lastUpdatedTime": TIME}
        reporter = Reporter("p", self.uid)
        task = asyncio.create_task(self.store.replace("ns", "tj", reporter, status))
        await asyncio.sleep(0.01)
        return task

    async def go_on(self) -> None:
        """Let the write under way come to its end."""
        self.client.gates[-1].set()
        await asyncio.sleep(0.01)

    async def percent(self) -> Any:
        found = await self.client.get(TRAIN_JOB, "tj", "ns")
        return found["status"]["trainerStatus"]["progressPercentage"]


def run(check: Callable[[Jobs], Coroutine[Any, Any, None]], jobs: Jobs | None = None) -> None:
    async def whole() -> None:
        made = jobs or Jobs()
        await made.create()
        await check(made)
        assert made.store._lanes == {}  # noqa: SLF001  nothing is left of what is done

    asyncio.run(whole())


def test_of_reports_that_wait_only_the_newest_is_written() -> None:
    async def check(jobs: Jobs) -> None:
        tasks = [await jobs.report(percent) for percent in (1, 2, 3, 4)]
        assert jobs.client.percents == [1]
        await jobs.go_on()
        assert jobs.client.percents == [1, 4]
        assert [task.done() for task in tasks] == [True, False, False, False]
        await jobs.go_on()
        assert await asyncio.gather(*tasks) == [True] * 4
        assert jobs.client.percents == [1, 4]
        assert await jobs.percent() == 4

    run(check)


def test_when_the_newest_fails_the_one_before_it_is_written() -> None:
    async def check(jobs: Jobs) -> None:
        tasks = [await jobs.report(percent) for percent in (1, 2, 3)]
        await jobs.go_on()
        jobs.client.errors.append(NotAvailable("the API server is gone"))
        await jobs.go_on()
        await jobs.go_on()
        found = await asyncio.gather(*tasks, return_exceptions=True)
        assert found[:2] == [True, True]
        assert isinstance(found[2], NotAvailable)
        assert jobs.client.percents == [1, 3, 2]
        assert await jobs.percent() == 2

    run(check)


@pytest.mark.parametrize("given_up", [0, 1, 2])
def test_a_report_that_is_given_up_holds_up_no_other(given_up: int) -> None:
    async def check(jobs: Jobs) -> None:
        tasks = [await jobs.report(percent) for percent in (1, 2, 3)]
        tasks.pop(given_up).cancel()
        await asyncio.sleep(0.01)
        while not all(task.done() for task in tasks):
            await jobs.go_on()
        assert await asyncio.gather(*tasks) == [True, True]
        assert await jobs.percent() == (2 if given_up == 2 else 3)

    run(check)


def test_a_turn_that_comes_with_the_end_of_the_wait_goes_to_the_next() -> None:
    async def check(jobs: Jobs) -> None:
        first, second, third = [await jobs.report(percent) for percent in (1, 2, 3)]
        jobs.client.gates[-1].set()
        assert await first
        third.cancel()
        await asyncio.sleep(0.01)
        await jobs.go_on()
        assert await second
        assert await jobs.percent() == 2

    run(check)


def test_a_write_that_another_writer_disturbs_is_tried_again() -> None:
    async def check(jobs: Jobs) -> None:
        conflict = Conflict(409, "Conflict", "the object has been modified")
        jobs.client.errors += [conflict, conflict]
        task = await jobs.report(1)
        for _ in range(3):
            await jobs.go_on()
        assert await task
        assert jobs.client.percents == [1, 1, 1]

        jobs.client.errors += [conflict] * 3
        task = await jobs.report(2)
        for _ in range(3):
            await jobs.go_on()
        with pytest.raises(Conflict):
            await task

    run(check)


def test_a_train_job_of_another_uid_gets_no_report() -> None:
    async def check(jobs: Jobs) -> None:
        jobs.uid = "another"
        with pytest.raises(ReportRefusal, match="Forbidden") as refused:
            await (await jobs.report(1))
        assert (refused.value.code, jobs.client.percents) == (403, [])

    run(check)


def test_a_train_job_that_is_deleted_in_between_is_not_found() -> None:
    async def check(jobs: Jobs) -> None:
        jobs.client.before = lambda: jobs.client.delete(TRAIN_JOB, "tj", "ns")
        task = await jobs.report(1)
        await jobs.go_on()
        assert await task is False

    run(check)


@pytest.mark.parametrize("finished", [False, True])
def test_a_finished_train_job_is_written_and_has_no_series(finished: bool) -> None:
    metrics = TrainingMetrics()

    async def check(jobs: Jobs) -> None:
        condition = {
            "type": "Complete",
            "status": str(finished),
            "reason": "r",
            "message": "m",
            "lastTransitionTime": TIME,
        }
        value = {
            "apiVersion": TRAIN_JOB.api_version,
            "kind": TRAIN_JOB.kind,
            "metadata": {"name": "tj", "namespace": "ns"},
            "status": {"conditions": [condition]},
        }
        await Memory.patch_status(jobs.client, value, manager="controller")
        task = await jobs.report(100)
        await jobs.go_on()
        assert await task
        assert await jobs.percent() == 100

    run(check, Jobs(metrics))
    families = {family.name: len(family.samples) for family in metrics.collect()}
    assert families["trainer_infra_training_progress_ratio"] == (0 if finished else 1)
