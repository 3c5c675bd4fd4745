"""Token buckets, with a clock that the test moves."""

import asyncio
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typing_extensions import override

from trainer_infra.controller.report_rate import Rate, RateLimit, TokenBuckets
from trainer_infra.progress.handler import Authenticator, Reporter, ReportRefusal


@dataclass
class Clock:
    now: float = 100.0

    def __call__(self) -> float:
        return self.now


class Pods(Authenticator):
    """A token is the name of its pod."""

    @override
    async def reporter(self, token: str, namespace: str, name: str) -> Reporter | None:
        return Reporter(token) if token else None


@dataclass
class Limited:
    """A limit of each pod and of each TrainJob, and what it lets through."""

    pod: Rate
    train_job: Rate
    clock: Clock = field(default_factory=Clock)

    def __post_init__(self) -> None:
        pods, jobs = (TokenBuckets(each, 100, self.clock) for each in (self.pod, self.train_job))
        self.limit = RateLimit(Pods(), pods, jobs)

    def ask(self, pod: str, name: str = "tj") -> Reporter | None:
        return asyncio.run(self.limit.reporter(pod, "ns", name))


def test_a_burst_is_let_through_and_then_one_a_second() -> None:
    limited = Limited(Rate(1.0, 10), Rate(100.0, 100))
    assert [limited.ask("p") for _ in range(10)] == [Reporter("p")] * 10
    with pytest.raises(ReportRefusal, match="Too many reports of this pod") as refused:
        limited.ask("p")
    assert (refused.value.code, refused.value.reason, refused.value.retry_after) == (
        429,
        "TooManyRequests",
        1,
    )
    assert limited.ask("q") == Reporter("q")
    limited.clock.now += 1.0
    assert limited.ask("p") == Reporter("p")
    with pytest.raises(ReportRefusal):
        limited.ask("p")


def test_all_pods_of_a_train_job_share_its_bucket() -> None:
    limited = Limited(Rate(100.0, 100), Rate(0.5, 2))
    limited.ask("p")
    limited.ask("q")
    with pytest.raises(ReportRefusal, match="Too many reports of this TrainJob") as refused:
        limited.ask("r")
    assert refused.value.response().headers == {"Retry-After": "2"}
    assert limited.ask("r", "other") == Reporter("r")


def test_who_may_not_report_has_no_bucket() -> None:
    limited = Limited(Rate(1.0, 1), Rate(1.0, 1))
    assert [limited.ask("") for _ in range(5)] == [None] * 5
    assert limited.ask("p") == Reporter("p")


def test_the_number_of_buckets_is_bounded_and_the_least_used_goes_first() -> None:
    buckets = TokenBuckets(Rate(1.0, 1), 3, Clock())
    assert [buckets.take(key) for key in "abc"] == [0.0] * 3
    assert buckets.take("a") == 1.0
    buckets.take("d")

    assert len(buckets) == 3
    assert (buckets.take("a"), buckets.take("c")) == (1.0, 1.0)
    assert buckets.take("b") == 0.0


def test_a_clock_that_goes_back_gives_and_takes_nothing() -> None:
    clock = Clock()
    buckets = TokenBuckets(Rate(1.0, 2), 3, clock)
    buckets.take("a")
    clock.now -= 50.0
    assert [buckets.take("a"), buckets.take("a")] == [0.0, 1.0]


@given(st.lists(st.floats(0.0, 5.0), max_size=60), st.floats(0.1, 10.0), st.integers(1, 20))
def test_no_more_come_through_than_the_rate_allows(
    pauses: list[float], per_second: float, burst: int
) -> None:
    clock = Clock()
    buckets = TokenBuckets(Rate(per_second, burst), 10, clock)
    taken = 0
    for pause in pauses:
        clock.now += pause
        wait = buckets.take("a")
        taken += wait == 0.0
        assert 0.0 <= wait <= 1.0 / per_second + 1e-6
    assert taken <= burst + sum(pauses) * per_second + 1e-6


@given(st.floats(0.1, 10.0), st.integers(1, 20))
def test_after_the_wait_that_is_said_there_is_a_token(per_second: float, burst: int) -> None:
    clock = Clock()
    buckets = TokenBuckets(Rate(per_second, burst), 10, clock)
    wait = max(buckets.take("a") for _ in range(burst + 1))
    clock.now += wait + 1e-6
    assert wait > 0.0
    assert buckets.take("a") == 0.0
