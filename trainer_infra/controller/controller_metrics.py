"""Prometheus metrics of the controller.

Mounted by the operations server. Times count from a TrainJob's creation, which Kubernetes stores in whole
seconds.
"""

import time
from collections import Counter as Count
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector
from typing_extensions import override

from trainer_infra import names
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.controller.informer import ObjectKey
from trainer_infra.controller.work_queue import QueueState
from trainer_infra.json_values import JSONObject
from trainer_infra.lifecycle import conditions, jobs_status, status

PREFIX: Final = "trainer_controller"
"""How the name of every metric of the controller begins."""
CREATED: Final = "Created"
"""State of a TrainJob whose pods are not ready."""
RUNNING: Final = "Running"
"""State of a TrainJob whose pods are ready."""
BUG: Final = "Bug"
"""Reason of an error that is our own mistake."""
STATES: Final = (CREATED, RUNNING, names.SUSPENDED, names.COMPLETE, names.FAILED)
_LOOK: Final = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_START: Final = (0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 3600.0, 14400.0)
_RUN: Final = (10.0, 60.0, 300.0, 900.0, 3600.0, 14400.0, 43200.0, 86400.0, 604800.0)


class ControllerMetrics:
    """The metrics of one process."""

    def __init__(self, queue_state: Callable[[], QueueState]) -> None:
        self.registry: Final = CollectorRegistry()
        """What the metrics endpoint shows."""
        self._states: dict[ObjectKey, str] = {}
        self._reconcile = Histogram(
            f"{PREFIX}_reconcile_seconds",
            "Seconds of one look at one TrainJob.",
            registry=self.registry,
            buckets=_LOOK,
        )
        self._errors = Counter(
            f"{PREFIX}_reconcile_errors",
            "Looks that must be tried again, by the reason.",
            ["reason"],
            registry=self.registry,
        )
        # An alert on an increase needs a series from the start.
        self._errors.labels(BUG)
        self.review_seconds: Final = Histogram(
            f"{PREFIX}_webhook_seconds",
            "Seconds of the answer to one review of admission, by webhook and code.",
            ["webhook", "code"],
            registry=self.registry,
            buckets=_LOOK,
        )
        """Takes the seconds of each review."""
        self._until_job_set = self._histogram("jobset_created", "until its JobSet is made", _START)
        self._until_running = self._histogram("running", "until all its pods are ready", _START)
        self._until_finished = self._histogram("finished", "until it is Complete or Failed", _RUN)
        self.registry.register(_Counts(self._states, queue_state))
        ProcessCollector(registry=self.registry)

    def looks(self) -> "Histogram":
        """Takes the seconds of each look."""
        return self._reconcile

    def error(self, reason: str) -> None:
        """A look must be tried again."""
        self._errors.labels(reason).inc()

    def job_set_made(self, job: TrainJob) -> None:
        """The JobSet of a TrainJob was applied where there was none."""
        self._until_job_set.observe(_age(job))

    def looked_at(
        self, key: ObjectKey, job: TrainJob, new: JSONObject | None, jobset: JSONObject | None
    ) -> None:
        """A look has ended at a TrainJob as it was before; its new status is None where that did not change."""
        current = status.stored_conditions(job) if new is None else new.get("conditions") or ()
        before, after = self._states.get(key), _state(current, jobset)
        self._states[key] = after
        if before is None or before == after:
            return
        if after == RUNNING and before == CREATED:
            self._until_running.observe(_age(job))
        if after in {names.COMPLETE, names.FAILED}:
            self._until_finished.observe(_age(job))

    def forget(self, key: ObjectKey) -> None:
        """The TrainJob is gone."""
        self._states.pop(key, None)

    def _histogram(self, name: str, until: str, buckets: Iterable[float]) -> Histogram:
        return Histogram(
            f"{PREFIX}_trainjob_{name}_seconds",
            f"Seconds from the creation of a TrainJob {until}.",
            registry=self.registry,
            buckets=tuple(buckets),
        )


class _Counts(Collector):
    """What is counted when it is asked for."""

    def __init__(self, states: dict[ObjectKey, str], queue_state: Callable[[], QueueState]) -> None:
        self._states = states
        self._queue_state = queue_state
        self._began = time.time()

    @override
    def collect(self) -> Iterator[Metric]:
        name, text = f"{PREFIX}_trainjobs", "TrainJobs by what they do."
        found = GaugeMetricFamily(name, text, labels=["state"])
        counted = Count(self._states.values())
        for state in STATES:
            found.add_metric([state], counted[state])
        yield found
        held = self._queue_state()
        for name, text, number in (
            ("depth", "TrainJobs that wait for a worker.", len(held.ready)),
            ("running", "TrainJobs that workers have.", len(held.running)),
            ("delayed", "TrainJobs that are due later.", len(held.later)),
            ("failing", "TrainJobs whose last look must be tried again.", len(held.failures)),
        ):
            yield GaugeMetricFamily(f"{PREFIX}_queue_{name}", text, value=number)


def _state(current: conditions.Conditions, jobset: JSONObject | None) -> str:
    for each in (names.COMPLETE, names.FAILED, names.SUSPENDED):
        if conditions.is_true(current, each):
            return each
    counts = jobs_status.jobs_status(jobset) if jobset is not None else ()
    active = [each for each in counts if each["active"] or each["ready"]]
    is_ready = all(each["ready"] + each["succeeded"] >= each["active"] for each in active)
    return RUNNING if active and is_ready else CREATED


def _age(job: TrainJob) -> float:
    created = conditions.parse_timestamp(job.metadata.creation_timestamp or "")
    return max(0.0, (datetime.now(UTC) - created).total_seconds())
