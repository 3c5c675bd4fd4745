"""The API server's clock counts where ours is wrong, and only there."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from trainer_infra.kube.server_clock import ServerClock


def heard(**other: float) -> ServerClock:
    clock = ServerClock()
    clock.hear(format_datetime(datetime.now(UTC) + timedelta(**other), usegmt=True))
    return clock


def is_near(clock: ServerClock, wanted: datetime) -> bool:
    return abs(clock.now() - wanted) < timedelta(minutes=5)


@pytest.mark.parametrize("hours", [-2.0, 2.0])
def test_a_clock_that_differs_by_hours_is_the_servers(hours: float) -> None:
    clock = heard(hours=hours)
    first = clock.now()
    assert is_near(clock, datetime.now(UTC) + timedelta(hours=hours))
    assert clock.now() >= first


@pytest.mark.parametrize("said", [None, "", "yesterday"])
def test_what_is_no_date_leaves_the_clock_as_it_was(said: str | None) -> None:
    clock = ServerClock()
    clock.hear(said)
    assert is_near(clock, datetime.now(UTC))
    later = heard(hours=2.0)
    later.hear(said)
    assert is_near(later, datetime.now(UTC) + timedelta(hours=2.0))
