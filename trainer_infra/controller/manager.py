"""The running controller: informers, workers, servers and the election, started and ended in order.

`trainer-infra controller` calls `run_manager`. It returns after SIGTERM or SIGINT, once no write is under
way, or raises when another replica leads: then this process must end.
"""

import asyncio
import logging
import os
import signal
import socket
import time
import uuid
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, Self

from trainer_infra import names
from trainer_infra.controller import configuration
from trainer_infra.controller.admission_judgement import AdmissionJudge
from trainer_infra.controller.admission_webhooks import AdmissionWebhooks
from trainer_infra.controller.configuration import STATUS_GATE, ControllerConfiguration
from trainer_infra.controller.controller_metrics import BUG, ControllerMetrics
from trainer_infra.controller.controller_servers import ServedParts, controller_servers
from trainer_infra.controller.event_recorder import EventRecorder
from trainer_infra.controller.informer import Informer, ObjectCache, ObjectKey
from trainer_infra.controller.json_logs import CURRENT
from trainer_infra.controller.leader_election import LeaderClient, LeaderElection, LeaseTerms
from trainer_infra.controller.plugin_watches import PluginWatches, Wakers
from trainer_infra.controller.runtime_finalizer import RuntimeFinalizers
from trainer_infra.controller.runtime_lookup import InformedLookups
from trainer_infra.controller.train_job_reconciler import ControllerCaches, TrainJobReconciler
from trainer_infra.controller.training_metrics import TrainingMetrics
from trainer_infra.controller.work_queue import WorkQueue
from trainer_infra.errors import Bug, NotAvailable
from trainer_infra.kube import http
from trainer_infra.kube.client import KubeClient, ObjectSelection
from trainer_infra.kube.kubeconfig_context import IN_POD
from trainer_infra.kube.request_retry import RequestRate
from trainer_infra.kube.resource import (
    CLUSTER_TRAINING_RUNTIME,
    JOBSET,
    TRAIN_JOB,
    TRAINING_RUNTIME,
    Resource,
)
from trainer_infra.lifecycle import conditions
from trainer_infra.render.behaviour import Behaviour
from trainer_infra.render.deviation import Deviation
from trainer_infra.render.plugins import train_job_status
from trainer_infra.render.plugins.train_job_status import StatusServer

STOPPED_WITHIN: Final = 20.0
"""Seconds for looks that are under way at the end."""
DEFAULT_QPS: Final = 50.0
DEFAULT_BURST: Final = 100
"""The reference's requests per second, and at once, where a file says 0."""
AUTHORITIES_EVERY: Final = 1.0
"""Seconds between two looks at the authorities of the certificate."""

_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ManagerSettings:
    """What a controller is started with."""

    configuration: ControllerConfiguration
    behaviour: Behaviour
    kubeconfig: str | None = None
    """Path; None for the usual places, in a pod its service account."""


class Manager:
    """One controller."""

    def __init__(
        self, client: KubeClient, settings: ManagerSettings, reporting: KubeClient | None = None
    ) -> None:
        """The status server asks the API server with `reporting`, else with the same client."""
        self._client = client
        self._reporting = reporting or client
        self._behaviour = settings.behaviour
        self._configuration = settings.configuration
        self.queue: Final = WorkQueue()
        """Which TrainJobs are looked at next."""
        self._caches = ControllerCaches.empty()
        self.metrics: Final = ControllerMetrics(self.queue.state)
        """What Prometheus sees."""
        self._leader = LeaderClient(client)
        self._recorder = EventRecorder(self._leader, lambda: len(self.queue) > 0)
        self._reconciler = TrainJobReconciler(
            self._leader, self._caches, self._recorder, self.metrics, settings.behaviour
        )
        self._finalizers = RuntimeFinalizers(self._leader, self._caches.runtimes)
        self._plugin_watches = PluginWatches(
            client,
            settings.behaviour.plugins,
            self._caches.train_jobs,
            self._reconciler.runtimes,
            Wakers(self.queue.add, self._reconciler.lose_child),
        )
        self._lookups = InformedLookups(client, self._reconciler.runtimes)
        self._training = TrainingMetrics()
        self.metrics.registry.register(self._training)
        self._informers = tuple(self._make_informers())
        self._stopping = asyncio.Event()
        self._failure: BaseException | None = None
        self._has_authorities = asyncio.Event()

    def _make_informers(self) -> list[Informer]:
        caches = self._caches
        followed: tuple[tuple[Resource, ObjectCache, Callable[[ObjectKey], None]], ...] = (
            (TRAIN_JOB, caches.train_jobs, self._train_job_changed),
            (JOBSET, caches.job_sets, self._job_set_changed),
            *(
                (each, caches.runtimes[each.kind], partial(self._runtime_changed, each.kind))
                for each in (CLUSTER_TRAINING_RUNTIME, TRAINING_RUNTIME)
            ),
        )
        return [
            Informer(self._client, ObjectSelection(resource), cache, changed)
            for resource, cache, changed in followed
        ]

    def _train_job_changed(self, key: ObjectKey) -> None:
        self.queue.add(key)
        status = (self._caches.train_jobs.get(key) or {}).get("status") or {}
        finished = conditions.is_finished(status.get("conditions") or ())
        report = None if finished else status.get("trainerStatus")
        self._training.remember(key.namespace, key.name, report)

    def _job_set_changed(self, key: ObjectKey) -> None:
        """A JobSet has its TrainJob's name; others do not matter here."""
        if key in self._caches.train_jobs:
            self.queue.add(key)

    def _runtime_changed(self, kind: str, key: ObjectKey) -> None:
        """Those that have no JobSet may have waited for this runtime."""
        self._finalizers.changed(kind, key)
        for waiting in self._reconciler.without_job_set:
            self.queue.add(waiting)

    def stop(self) -> None:
        """End it: `run` returns when no look is under way."""
        self._stopping.set()

    def _fail(self, error: BaseException) -> None:
        """A part has failed: end as if told to, for without it this would only seem to work."""
        _log.error("a part of it failed; this is a bug, please report it", exc_info=error)
        self._failure = error
        self.stop()

    async def run(self) -> None:
        """Work until `stop`.

        Raises:
            NotAvailable: An address cannot be had, or another replica leads now.
            Bug: A part of it has failed; Kubernetes starts the controller anew.
        """
        await self._serve()
        if self._failure is not None:
            raise Bug("a part of the controller failed, so all of it ended") from self._failure

    async def _serve(self) -> None:
        parts = ServedParts(
            AdmissionJudge(self._lookups, self._behaviour),
            self.metrics,
            self.queue.state,
            {"caches": self._caches_problem},
            own_namespace(),
            self._reporting,
        )
        async with (
            controller_servers(self._client, self._configuration, parts) as webhooks,
            _BackgroundTasks(self._fail) as background,
        ):
            background.start(webhooks.keeping)
            if self._configuration.has_gate(STATUS_GATE):
                background.start(self._follow_authorities(webhooks))
                await self._or_stop(self._has_authorities.wait())
            for informer in self._informers:
                background.start(informer.run())
            for informer in self._informers:
                await self._or_stop(informer.has_synced.wait())
            if self._behaviour.ours(Deviation.EARLY_END):
                background.start(self._reconciler.pods.early_ends.run(self._job_set_changed))
            election = self._election()
            if election is None:
                await self._work(asyncio.Event())
                return
            await self._or_stop(election.acquire())
            if self._stopping.is_set():
                return
            self._leader.seconds_left = lambda: election.seconds_left
            lost = asyncio.Event()
            background.start(_kept(election, lost))
            await self._work(lost)
            if lost.is_set():
                raise NotAvailable("another replica leads now; this one ends")
            await election.release()

    async def _follow_authorities(self, webhooks: AdmissionWebhooks) -> None:
        """Render with the certificate's authorities: pods trust what the status server shows."""
        known = b""
        while True:
            if webhooks.authorities != known:
                known = webhooks.authorities
                self._reconciler.behaviour = self._reporting_behaviour(known)
                for key in self._caches.train_jobs:
                    self.queue.add(key)
                self._has_authorities.set()
            await asyncio.sleep(AUTHORITIES_EVERY)

    def _reporting_behaviour(self, authorities: bytes) -> Behaviour:
        certificates = self._configuration.cert_management
        place = StatusServer(
            certificates.webhook_service_name,
            own_namespace(),
            self._configuration.status_server.port,
            certificates.webhook_secret_name,
            authorities.decode(),
        )
        *others, job_set = self._behaviour.plugins
        plugins = (*others, train_job_status.plugin(place), job_set)
        return replace(self._behaviour, plugins=plugins)

    async def _work(self, lost: asyncio.Event) -> None:
        """Look at TrainJobs until the end, or until leadership is lost."""
        _log.info("%s workers begin", self._configuration.workers)
        # What is new does not wait until all that runs already has been looked at.
        self.queue.prefer(lambda key: key not in self._caches.job_sets)
        async with _BackgroundTasks(self._fail) as beside:
            for each in (self._recorder, self._finalizers, self._plugin_watches):
                beside.start(each.run())
            workers = [
                asyncio.create_task(self._worker()) for _ in range(self._configuration.workers)
            ]
            try:
                await _first(self._stopping.wait(), lost.wait())
            finally:
                for worker in workers:
                    worker.cancel()
                if not lost.is_set():
                    # A worker that looks at a TrainJob goes on until it has written what is due.
                    await _within_the_end(asyncio.gather(*workers, return_exceptions=True))
        if not lost.is_set():
            await _within_the_end(self._recorder.flush())

    async def _worker(self) -> None:
        while True:
            key = await self.queue.take()
            look = asyncio.create_task(self._look(key))
            try:
                await asyncio.shield(look)
            except asyncio.CancelledError:
                await look
                raise

    async def _look(self, key: ObjectKey) -> None:
        CURRENT.set(key)
        failed, again_after = True, None
        began = time.monotonic()
        try:
            outcome = await self._reconciler.reconcile(key)
            failed, again_after = outcome.failed, outcome.again_after
        except Exception:  # noqa: BLE001  our mistake about one TrainJob must not stop the others
            self.metrics.error(BUG)
            _log.exception("a look at a TrainJob failed; this is a bug, please report it")
        finally:
            self.metrics.looks().observe(time.monotonic() - began)
            self.queue.done(key, failed=failed)
            if again_after is not None:
                self.queue.add_after(key, again_after)

    async def _or_stop(self, work: Coroutine[Any, Any, object]) -> None:
        await _first(work, self._stopping.wait())

    def _election(self) -> LeaderElection | None:
        found = self._configuration.leader_election
        if found is None or not found.leader_elect:
            return None
        terms = LeaseTerms(
            found.resource_name,
            found.resource_namespace or own_namespace(),
            f"{socket.gethostname()}_{uuid.uuid4()}",
            configuration.seconds_of(found.lease_duration) or 0.0,
            configuration.seconds_of(found.renew_deadline) or 0.0,
            configuration.seconds_of(found.retry_period) or 0.0,
        )
        return LeaderElection(self._client, terms)

    def _caches_problem(self) -> str:
        missing = sum(not each.has_synced.is_set() for each in self._informers)
        return f"{missing} lists are not read" if missing else ""


class _BackgroundTasks:
    """Tasks that end with what they are beside; `fail` is called with the error of each that fails."""

    def __init__(self, fail: Callable[[BaseException], None]) -> None:
        self._fail = fail
        self._tasks: list[asyncio.Future[None]] = []

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        for each in self._tasks:
            each.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def start(self, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        task.add_done_callback(self._ended)
        self._tasks.append(task)

    def _ended(self, task: asyncio.Future[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._fail(error)


async def run_manager(settings: ManagerSettings) -> None:
    """Connect, and work until SIGTERM or SIGINT.

    Raises:
        NotAvailable: There is no cluster to talk to, an address is taken, or another replica leads.
    """
    connection, reports = (
        settings.configuration.client_connection,
        settings.configuration.status_server,
    )
    usual = configuration.DEFAULT.status_server
    rate = None
    if connection.qps is not None:
        qps = connection.qps or DEFAULT_QPS
        rate = RequestRate(qps, connection.burst or DEFAULT_BURST)
    client = await http.connect_client(settings.kubeconfig, rate=rate)
    rate = RequestRate(reports.qps or usual.qps, reports.burst or usual.burst)
    reporting = await http.connect_client(settings.kubeconfig, rate=rate)
    manager = Manager(client, settings, reporting)
    loop = asyncio.get_running_loop()
    for each in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(each, manager.stop)
    try:
        await manager.run()
    finally:
        await client.close()
        await reporting.close()


def own_namespace() -> str:
    """The namespace of the controller; outside a pod the usual one (reference behaviour 3.10)."""
    try:
        return IN_POD.read_text("utf-8").strip()
    except OSError:
        return os.environ.get("KUBEFLOW_SYSTEM_NAMESPACE") or names.SYSTEM_NAMESPACE


async def _kept(election: LeaderElection, lost: asyncio.Event) -> None:
    await election.keep()
    lost.set()


async def _within_the_end(work: Awaitable[object]) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(STOPPED_WITHIN):
            await work


async def _first(*works: Coroutine[Any, Any, object]) -> None:
    """Wait until one of them ends; the others are cancelled."""
    tasks = [asyncio.ensure_future(each) for each in works]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for each in tasks:
            each.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    for each in done:
        each.result()
