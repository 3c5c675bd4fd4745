"""Where reports go: the TrainJob's status in the API server (reference behaviour 6).

Mounted by `status_server`. A report replaces the last one as a whole, by server-side apply with a field
manager of its own, so that it touches no condition, and progress survives a restart of every manager.

The last report wins, as in the reference: the order is that of arrival, for clocks of pods differ, and
one that is ahead would shut out all others. While a write of a TrainJob is under way, the newest report
goes next, and those that came before it need no write of their own. A report of a finished TrainJob is
stored too: the last one often arrives when the pod has just ended.
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

from typing_extensions import override

from trainer_infra import names
from trainer_infra.controller.training_metrics import TrainingMetrics
from trainer_infra.json_values import JSONObject
from trainer_infra.kube.client import KubeClient
from trainer_infra.kube.refusals import Conflict, Invalid, NotFound
from trainer_infra.kube.resource import TRAIN_JOB
from trainer_infra.progress.handler import Reporter, ReportRefusal, Store

TRIES: Final = 3
"""Writes of one report, where other writers come in between."""
_INVALID: Final = 422


class TrainerStatusStore(Store):
    """Writes to one API server; belongs to one event loop.

    The client may read TrainJobs and patch their status, and has so many seconds for each request. Metrics get
    what is stored; None where they learn it otherwise.
    """

    def __init__(
        self, client: KubeClient, metrics: TrainingMetrics | None = None, within: float = 8.0
    ) -> None:
        self._client = client
        self._metrics = metrics
        self._within = within
        self._lanes: dict[tuple[str, str], _Lane] = {}

    @override
    async def replace(
        self, namespace: str, name: str, reporter: Reporter, status: Mapping[str, Any]
    ) -> bool:
        """Store a report, unless a newer one of the TrainJob is stored before its turn comes.

        Raises:
            ReportRefusal: 403, the TrainJob of that name is not the reporter's; 422, the API server
                refuses the report.
            TrainerInfraError: The API server does not answer.
            TimeoutError: The same.
        """
        lane = self._lanes.setdefault((namespace, name), _Lane())
        number = lane.arrive()
        try:
            async with lane.turn():
                if lane.stored > number:
                    return True
                found = await self._written(namespace, name, reporter, status)
                if found:
                    lane.stored = number
                return found
        finally:
            lane.inside -= 1
            if not lane.inside:
                del self._lanes[namespace, name]

    async def _written(
        self, namespace: str, name: str, reporter: Reporter, status: Mapping[str, Any]
    ) -> bool:
        """Apply a report; False when there is no such TrainJob.

        Its uid is read before: the API server ignores one that is applied to a status.
        """
        value = {
            "apiVersion": TRAIN_JOB.api_version,
            "kind": TRAIN_JOB.kind,
            "metadata": {"namespace": namespace, "name": name},
            "status": {"trainerStatus": status},
        }
        left = TRIES
        while True:
            left -= 1
            try:
                found = await self._client.within(self._within).get(TRAIN_JOB, name, namespace)
                if reporter.train_job_uid != found["metadata"]["uid"]:
                    raise ReportRefusal(403, "Forbidden", "Forbidden")
                stored = await self._applied(value)
            except NotFound:
                return False
            except Conflict:
                if not left:
                    raise
            else:
                self._remember(namespace, name, stored)
                return True

    async def _applied(self, value: JSONObject) -> JSONObject:
        client = self._client.within(self._within)
        try:
            return await client.patch_status(value, manager=names.PROGRESS_MANAGER)
        except Invalid as error:
            if error.status != _INVALID:
                raise
            raise ReportRefusal(_INVALID, "Invalid", error.message) from error

    def _remember(self, namespace: str, name: str, stored: JSONObject) -> None:
        status = stored.get("status") or {}
        finished = any(
            each["type"] in (names.COMPLETE, names.FAILED) and each["status"] == "True"
            for each in status.get("conditions") or ()
        )
        if self._metrics is not None and not finished:
            self._metrics.remember(namespace, name, status.get("trainerStatus"))


class _Lane:
    """The reports of one TrainJob: one is written at a time, and the newest of those that wait goes next."""

    def __init__(self) -> None:
        self.inside = 0
        """Reports that are written or wait."""
        self.stored = 0
        """Number of the newest report that is stored."""
        self._arrived = 0
        self._is_busy = False
        self._waiting: list[asyncio.Future[None]] = []

    def arrive(self) -> int:
        """The number of a report: later ones have higher ones."""
        self.inside += 1
        self._arrived += 1
        return self._arrived

    @asynccontextmanager
    async def turn(self) -> AsyncGenerator[None, None]:
        """Wait until no other report of the TrainJob is written."""
        if self._is_busy:
            await self._called()
        self._is_busy = True
        try:
            yield
        finally:
            self._call_next()

    async def _called(self) -> None:
        called = asyncio.get_running_loop().create_future()
        self._waiting.append(called)
        try:
            await called
        except asyncio.CancelledError:
            with suppress(ValueError):
                self._waiting.remove(called)
            if called.done() and not called.cancelled():
                self._call_next()  # the turn came together with the end of the wait
            raise

    def _call_next(self) -> None:
        while self._waiting:
            called = self._waiting.pop()
            if not called.done():
                called.set_result(None)
                return
        self._is_busy = False
