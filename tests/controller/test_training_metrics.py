"""Series of training: how many there are, what is in them, and that users cannot break them."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.openmetrics import exposition as openmetrics
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics_text
from prometheus_client.parser import text_string_to_metric_families

from trainer_infra.controller.training_metrics import SeriesLimits, TrainingMetrics

BEGAN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC).timestamp()
TIME = "2026-01-02T03:04:05Z"


@dataclass
class Clock:
    now: float

    def __call__(self) -> float:
        return self.now


class Kept:
    """Metrics of a registry, whose clocks the test moves."""

    def __init__(self, limits: SeriesLimits | None = None, wall: float = BEGAN) -> None:
        self.monotonic, self.wall = Clock(1000.0), Clock(wall)
        self.metrics = TrainingMetrics(limits, self.monotonic, self.wall)
        self.registry = CollectorRegistry()
        self.registry.register(self.metrics)

    def later(self, seconds: float) -> None:
        self.monotonic.now += seconds
        self.wall.now += seconds

    def report(self, name: str = "tj", at: float | None = None, **status: Any) -> None:
        moment = datetime.fromtimestamp(self.wall.now if at is None else at, UTC)
        time = moment.strftime("%Y-%m-%dT%H:%M:%SZ")
        self.metrics.remember("ns", name, {"lastUpdatedTime": time, **status})

    def series(self) -> dict[tuple[str, ...], float]:
        """Every series of a TrainJob as a scrape has it: name and labels to value."""
        text = generate_latest(self.registry).decode()
        return {
            (
                sample.name.removeprefix("trainer_infra_training_"),
                *_labels(sample.labels),
            ): sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
            if sample.labels
        }

    def left_out(self) -> float | None:
        return self.registry.get_sample_value("trainer_infra_training_train_jobs_left_out")


def _labels(labels: dict[str, str]) -> list[str]:
    return [labels[key] for key in ("namespace", "train_job", "metric") if key in labels]


def metric(name: str, value: str = "1") -> dict[str, str]:
    return {"name": name, "value": value}


def test_a_report_has_a_series_for_each_number() -> None:
    kept = Kept()
    metrics = [metric("loss", "2.5e-1"), metric("stage", "warm-up")]
    kept.report(progressPercentage=42, estimatedRemainingSeconds=9, metrics=metrics)

    assert kept.series() == {
        ("progress_ratio", "ns", "tj"): 0.42,
        ("estimated_remaining_seconds", "ns", "tj"): 9.0,
        ("report_timestamp_seconds", "ns", "tj"): BEGAN,
        ("metric", "ns", "tj", "loss"): 0.25,
    }


def test_a_report_replaces_the_last_one() -> None:
    kept = Kept()
    kept.report(progressPercentage=1, metrics=[metric("a"), metric("b")])
    kept.report(metrics=[metric("b", "3")])

    assert kept.series() == {
        ("report_timestamp_seconds", "ns", "tj"): BEGAN,
        ("metric", "ns", "tj", "b"): 3.0,
    }


@pytest.mark.parametrize(
    "value",
    [
        "",
        "x",
        "nan",
        "NaN",
        "inf",
        "-Infinity",
        "1e999",
        "1_0",
        "٣",
        " 1",
        "1 ",
        "0x1",
        "--1",
        "1\n",
    ],
)
def test_what_is_no_finite_number_has_no_series(value: str) -> None:
    kept = Kept()
    kept.report(metrics=[metric("a", value), metric("b")])

    assert [key for key in kept.series() if key[0] == "metric"] == [("metric", "ns", "tj", "b")]


@pytest.mark.parametrize("value", ["0", "-1", "+1.", ".5", "1e-3", "00012.50E+2"])
def test_a_number_has_a_series(value: str) -> None:
    kept = Kept()
    kept.report(metrics=[metric("a", value)])

    assert kept.series()["metric", "ns", "tj", "a"] == float(value)


def test_of_two_metrics_of_a_name_there_is_one_series() -> None:
    kept = Kept()
    kept.report(metrics=[metric("a", "1"), metric("a", "2")])

    assert kept.series()["metric", "ns", "tj", "a"] == 2.0


def test_the_number_of_metrics_and_the_length_of_names_are_bounded() -> None:
    kept = Kept()
    kept.report(
        metrics=[metric("n" * 65), metric("n" * 64), *(metric(f"m{i}") for i in range(256))]
    )
    names = [key[3] for key in kept.series() if key[0] == "metric"]

    assert names == ["n" * 64, *(f"m{i}" for i in range(31))]


def test_the_number_of_train_jobs_is_bounded_and_one_that_goes_makes_room() -> None:
    kept = Kept(SeriesLimits(train_jobs=2))
    for name in ("a", "b", "c"):
        kept.report(name, progressPercentage=1)
    assert {key[2] for key in kept.series()} == {"a", "b"}
    assert kept.left_out() == 1.0

    kept.metrics.forget("ns", "a")
    kept.report("c", progressPercentage=2)
    assert {key[2] for key in kept.series()} == {"b", "c"}
    assert kept.left_out() == 0.0


def test_a_train_job_that_is_silent_goes_and_comes_back_with_a_report() -> None:
    kept = Kept()
    kept.report(progressPercentage=1)
    status = {"lastUpdatedTime": TIME, "progressPercentage": 1}
    kept.later(3599.0)
    kept.metrics.remember("ns", "tj", status)
    assert kept.series()
    kept.later(1.0)
    assert kept.series() == {}
    kept.metrics.remember("ns", "tj", status)
    assert kept.series() == {}
    kept.report(progressPercentage=2)
    assert kept.series()["progress_ratio", "ns", "tj"] == 0.02


def test_a_silent_one_makes_room() -> None:
    kept = Kept(SeriesLimits(train_jobs=1))
    kept.report("a", progressPercentage=1)
    kept.later(4000.0)
    kept.report("b", progressPercentage=1)

    assert {key[2] for key in kept.series()} == {"b"}
    assert kept.left_out() == 0.0


def test_after_a_restart_what_is_stored_fills_it_with_its_own_age() -> None:
    kept = Kept(wall=BEGAN + 3000.0)
    kept.report(at=BEGAN, progressPercentage=1)
    assert kept.series()
    kept.later(600.0)
    assert kept.series() == {}


def test_a_report_of_the_future_is_no_older_than_now_and_goes_when_it_is_silent() -> None:
    kept = Kept()
    kept.report(at=BEGAN + 10**8, progressPercentage=1)
    kept.later(3600.0)

    assert kept.series() == {}


@pytest.mark.parametrize("status", [None, {}])
def test_a_train_job_without_a_report_has_no_series(status: dict[str, Any] | None) -> None:
    kept = Kept()
    kept.report(progressPercentage=1)
    kept.metrics.remember("ns", "tj", status)

    assert kept.series() == {}


NAMES = st.text(min_size=1, max_size=64) | st.sampled_from(
    ['a"b', "a\\", "a\nb", "a\r", "{}", "\x00", "\u2028", "# EOF"]
)


@given(st.lists(st.tuples(NAMES, st.text(max_size=64) | st.floats().map(repr)), max_size=40))
def test_no_text_of_a_user_breaks_the_format(given_metrics: list[tuple[str, str]]) -> None:
    kept = Kept()
    kept.report(metrics=[metric(name, value) for name, value in given_metrics])
    found = kept.series()
    allowed = {name for name, _ in given_metrics}

    assert {key[3] for key in found if key[0] == "metric"} <= allowed
    assert len(found) <= 33
    text = openmetrics.generate_latest(kept.registry).decode()  # type: ignore[no-untyped-call]
    families = openmetrics_text(text)  # type: ignore[no-untyped-call]
    samples = [sample for family in families for sample in family.samples]
    assert len([sample for sample in samples if sample.labels]) == len(found)
