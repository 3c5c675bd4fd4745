"""How far a download is: lines in the log, and reports to the controller."""

from __future__ import annotations

import os
import time

from trainer_infra.in_pod.initializers.download import Download
from trainer_infra.in_pod.initializers.units import bytes_text, files_text, seconds_text
from trainer_infra.in_pod.report import FILE, SERVER, report

PERIOD = 5.0
"""Seconds between two lines."""


class ProgressLine:
    """Follows one download.

    Args:
        kind: `dataset` or `model`.
        download: what to follow.
    """

    def __init__(self, kind: str, download: Download) -> None:
        self.kind = kind
        self.download = download
        self.began = time.monotonic()
        self.due = self.began + PERIOD

    def text(self) -> str:
        """What there is to say now."""
        listing, there = self.download.listing, self.download.kept + self.download.received
        count = f"{len(self.download.whole):,} of {files_text(len(listing.files))}"
        size = f"{bytes_text(there)} of {bytes_text(listing.size)}"
        left = self.remaining()
        rest = "" if left is None else f", about {seconds_text(left)} left"
        return f"{count}, {size}, {bytes_text(self.speed())}/s{rest}"

    def speed(self) -> float:
        """Bytes a second since the beginning."""
        return self.download.received / max(time.monotonic() - self.began, 0.001)

    def remaining(self) -> float | None:
        """Seconds until the end; None while that cannot be known."""
        left = self.download.listing.size - self.download.kept - self.download.received
        speed = self.speed()
        return left / speed if speed and left >= 0 else None

    def follow(self) -> bool:
        """Report, and say so when it is time; whether a line was printed."""
        size = self.download.listing.size
        there = self.download.kept + self.download.received
        # The last per cent is for what comes after the last byte.
        done = 99 * there / size if size else 0
        report_progress(self.kind, min(done, 99), self.remaining())
        if time.monotonic() < self.due:
            return False
        self.due = time.monotonic() + PERIOD
        print(f"{self.kind}: {self.text()}", flush=True)  # noqa: T201  the pod's log
        return True


def report_progress(kind: str, percentage: float, remaining: float | None) -> None:
    """Tell the controller, if there is one: `report` prints what has no receiver, and we print lines of our own."""
    if os.environ.get(SERVER) or os.environ.get(FILE):
        report(progress=percentage, remaining=remaining, initializer=kind)
