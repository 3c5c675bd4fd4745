"""The rate and the time to the end, by a clock that the test sets."""

import pytest

from trainer_infra.in_pod.callbacks.training_progress import Pace


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def pace(clock: Clock) -> Pace:
    return Pace(clock, window=60.0)


def go_on(pace: Pace, clock: Clock, steps: range, seconds: float, total: int = 1000) -> None:
    """Steps of 32 samples, each of so many seconds."""
    for step in steps:
        clock.now += seconds
        pace.advance(step / total, 32)


def test_nothing_is_known_before_the_first_step(pace: Pace, clock: Clock) -> None:
    assert (pace.samples_per_second, pace.remaining) == (None, None)
    pace.begin()
    clock.now += 5
    assert (pace.samples_per_second, pace.remaining) == (None, None)


def test_a_steady_pace_is_samples_by_seconds_and_the_rest_by_what_is_done(
    pace: Pace, clock: Clock
) -> None:
    pace.begin()
    go_on(pace, clock, range(1, 101), 0.5)
    assert pace.samples_per_second == pytest.approx(64)
    assert pace.remaining == pytest.approx(450)


def test_the_first_slow_steps_are_forgotten_when_they_leave_the_window(
    pace: Pace, clock: Clock
) -> None:
    pace.begin()
    go_on(pace, clock, range(1, 3), 30)
    assert pace.samples_per_second == pytest.approx(64 / 60)
    go_on(pace, clock, range(3, 203), 0.5)
    assert pace.samples_per_second == pytest.approx(64)
    assert pace.remaining == pytest.approx(0.5 * 798)


def test_steps_that_take_longer_than_the_window_still_have_a_pace(pace: Pace, clock: Clock) -> None:
    pace.begin()
    go_on(pace, clock, range(1, 21), 320, total=100)
    assert pace.samples_per_second == pytest.approx(0.1)
    assert pace.remaining == pytest.approx(80 * 320)


def test_what_a_checkpoint_has_done_is_not_taken_for_pace(pace: Pace, clock: Clock) -> None:
    pace.begin(0.5)
    go_on(pace, clock, range(501, 511), 1)
    assert pace.remaining == pytest.approx(490)


def test_without_a_whole_there_is_a_rate_and_no_end(pace: Pace, clock: Clock) -> None:
    pace.begin()
    for _ in range(4):
        clock.now += 1
        pace.advance(0.0, 10)
    assert pace.samples_per_second == pytest.approx(10)
    assert pace.remaining is None


def test_a_clock_that_stands_still_gives_no_rate(pace: Pace) -> None:
    pace.begin()
    pace.advance(0.5, 10)
    assert (pace.samples_per_second, pace.remaining) == (None, None)


def test_a_thousand_steps_a_second_have_a_pace(pace: Pace, clock: Clock) -> None:
    pace.begin()
    go_on(pace, clock, range(1, 100_001), 0.001, total=200_000)
    assert pace.samples_per_second == pytest.approx(32_000)
    assert pace.remaining == pytest.approx(100, rel=1e-3)
