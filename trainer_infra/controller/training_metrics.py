"""What training says of itself, as Prometheus series of a bounded number.

The manager mounts it on its registry. It is a view of the TrainJobs' stored trainerStatus, so that a
restart loses nothing: what watches TrainJobs calls `remember`, and `forget` once it is finished
or gone. Texts come from users, numbers from their training: what is not a finite number, and a name that
cannot be printed, has no series.
"""

import math
import re
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from typing_extensions import override

_NUMBER: Final = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
_JOB: Final = ("namespace", "train_job")
_PERCENT: Final = 100.0


@dataclass(frozen=True, slots=True)
class SeriesLimits:
    """How many series there may be."""

    train_jobs: int = 1_000
    """TrainJobs with series; others have none until there is room."""
    metrics: int = 32
    """Metrics of one TrainJob: the first of its report."""
    name: int = 64
    """Characters of a metric's name; longer ones have no series."""
    silence: float = 3_600.0
    """Seconds without a report after which the series of a TrainJob go away.

    How old a report is that is there from the start is known by its own time only, so a report
    of a clock that is this much behind has no series."""


@dataclass(frozen=True, slots=True)
class _Report:
    """The numbers of one trainerStatus."""

    progress: float | None
    remaining: float | None
    updated: float | None
    metrics: Mapping[str, float]


class TrainingMetrics(Collector):
    """A collector of prometheus_client; its methods may be called from any thread."""

    def __init__(
        self,
        limits: SeriesLimits | None = None,
        monotonic: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._limits = limits or SeriesLimits()
        self._monotonic = monotonic
        self._wall = wall
        self._reports: dict[tuple[str, str], tuple[_Report, float]] = {}
        self._left_out: set[tuple[str, str]] = set()

    def remember(self, namespace: str, name: str, trainer_status: Mapping[str, Any] | None) -> None:
        """Take the trainerStatus of an unfinished TrainJob in the place of its last one.

        The same one again is not a report: silence goes on. None is the same as `forget`.
        """
        if not trainer_status:
            self.forget(namespace, name)
            return
        key, now = (namespace, name), self._monotonic()
        report = _report(trainer_status, self._limits)
        known = self._reports.get(key)
        if known is not None:
            if known[0] != report:
                self._reports[key] = (report, now)
            return
        age = 0.0 if report.updated is None else max(0.0, self._wall() - report.updated)
        if age >= self._limits.silence:
            return
        if len(self._reports) >= self._limits.train_jobs:
            self._expire()
        if len(self._reports) < self._limits.train_jobs:
            self._reports[key] = (report, now - age)
            self._left_out.discard(key)
        elif len(self._left_out) < self._limits.train_jobs:
            self._left_out.add(key)

    def forget(self, namespace: str, name: str) -> None:
        """The TrainJob is finished or gone: so are its series."""
        self._reports.pop((namespace, name), None)
        self._left_out.discard((namespace, name))

    @override
    def collect(self) -> Iterable[Metric]:
        """The series of now."""
        self._expire()
        progress = _gauge("progress_ratio", "How much of the training is done, 0 to 1.")
        remaining = _gauge("estimated_remaining_seconds", "What the training says is left.")
        updated = _gauge("report_timestamp_seconds", "When the training made its last report.")
        metric = _gauge("metric", "A metric of the training, by its name.", "metric")
        for job, (report, _) in list(self._reports.items()):
            for family, value in (
                (progress, report.progress),
                (remaining, report.remaining),
                (updated, report.updated),
            ):
                if value is not None:
                    family.add_metric(job, value)
            for name, value in report.metrics.items():
                metric.add_metric((*job, name), value)
        left_out = GaugeMetricFamily(
            "trainer_infra_training_train_jobs_left_out",
            "TrainJobs that report and have no series, because too many others have.",
            value=len(self._left_out),
        )
        return (progress, remaining, updated, metric, left_out)

    def _expire(self) -> None:
        """Drop what has been silent for too long."""
        since = self._monotonic() - self._limits.silence
        for key in [key for key, (_, at) in self._reports.items() if at <= since]:
            del self._reports[key]


def _gauge(name: str, documentation: str, *labels: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(
        f"trainer_infra_training_{name}", documentation, labels=(*_JOB, *labels)
    )


def _report(status: Mapping[str, Any], limits: SeriesLimits) -> _Report:
    """The numbers of a trainerStatus as the API server has it."""
    percent = status.get("progressPercentage")
    remaining = status.get("estimatedRemainingSeconds")
    metrics: dict[str, float] = {}
    for each in status.get("metrics") or ():
        name, value = str(each.get("name") or ""), _number(each.get("value"))
        is_shown = 0 < len(name) <= limits.name and name.isprintable()
        if is_shown and value is not None and (name in metrics or len(metrics) < limits.metrics):
            metrics[name] = value
    return _Report(
        None if percent is None else percent / _PERCENT,
        None if remaining is None else float(remaining),
        _timestamp(status.get("lastUpdatedTime")),
        metrics,
    )


def _number(value: object) -> float | None:
    """A finite number that a text is, in digits that everyone reads alike; None for any other."""
    if not isinstance(value, str) or not _NUMBER.fullmatch(value):
        return None
    number = float(value)
    return number if math.isfinite(number) else None


def _timestamp(value: object) -> float | None:
    try:
        return datetime.fromisoformat(str(value)).timestamp()
    except (ValueError, OverflowError):
        return None
