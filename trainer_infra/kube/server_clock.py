"""The API server's clock, as its answers tell it: what times of objects are compared with.

A machine whose clock is wrong by hours must not end a training hours early. Where the two clocks
agree, ours is used: it is exact to more than a second.
"""

import time
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Final

AGREE: Final = timedelta(seconds=5)
"""How far two clocks may differ that agree: an answer takes its time, and tells whole seconds."""


class ServerClock:
    """The clock of one server."""

    def __init__(self) -> None:
        self._heard: tuple[datetime, float] | None = None

    def hear(self, date: str | None) -> None:
        """Take over the header `Date` of an answer that came just now; one that is none is left out."""
        try:
            said = parsedate_to_datetime(date or "")
        except ValueError:
            return
        self._heard = said.astimezone(UTC), time.monotonic()

    def now(self) -> datetime:
        """The time; ours while nothing was heard."""
        ours = datetime.now(UTC)
        if self._heard is None:
            return ours
        said, at = self._heard
        theirs = said + timedelta(seconds=time.monotonic() - at)
        return ours if abs(theirs - ours) <= AGREE else theirs
