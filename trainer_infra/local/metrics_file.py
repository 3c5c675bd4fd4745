"""The file of a run's reports: JSON lines, one per report, thinned out before it grows too large."""

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from trainer_infra.runs import report_history
from trainer_infra.runs.report_history import PastReport

LARGEST: Final = 4 * 1024 * 1024
"""Bytes; some 15,000 reports of eight metrics. A file that is larger loses half of its reports or more."""


class MetricsFile:
    """The reports of one run, for its supervisor to add to."""

    def __init__(self, path: Path, largest: int = LARGEST) -> None:
        self._path = path
        self._largest = largest

    def add(self, report: PastReport) -> None:
        """Append a report; one that cannot be written is left out, for no run ends for want of it."""
        line = _content((report,))
        with suppress(OSError):
            handle = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                os.write(handle, line)
                size = os.fstat(handle).st_size
            finally:
                os.close(handle)
            if size > self._largest:
                self._thin_out()

    def _thin_out(self) -> None:
        """Leave reports that are evenly spread over the time, in half of the largest size at most."""
        kept = read_metrics(self._path)
        content = _content(kept)
        while len(content) > self._largest // 2:
            fewer = report_history.thinned(kept, len(kept) // 2)
            if len(fewer) == len(kept):
                # The first and the last report of each node are all that is left.
                break
            kept, content = fewer, _content(fewer)
        partial = self._path.with_suffix(".partial")
        partial.write_bytes(content)
        partial.chmod(0o600)
        partial.replace(self._path)


def _content(reports: Sequence[PastReport]) -> bytes:
    return "".join(map(report_history.report_line, reports)).encode()


def read_metrics(path: Path) -> Sequence[PastReport]:
    """The reports of a file, in the order in which they came; none where there is no file."""
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except FileNotFoundError:
        return ()
    found = map(report_history.report_of_line, text.splitlines())
    return tuple(each for each in found if each is not None)
