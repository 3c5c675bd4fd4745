"""At the end of a long session, the files whose tests took longest, for the log of CI."""

from collections import Counter
from typing import Any, Final

FROM: Final = 60.0
"""Seconds of tests from which on a session is long."""
ROWS: Final = 10


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print the ten slowest files, with the seconds of their tests and fixtures."""
    seconds: Counter[str] = Counter()
    for reports in terminalreporter.stats.values():
        for each in reports:
            if hasattr(each, "duration") and hasattr(each, "nodeid"):
                seconds[each.nodeid.partition("::")[0]] += each.duration
    if seconds.total() > FROM:
        terminalreporter.section("slowest files")
        for file, took in seconds.most_common(ROWS):
            terminalreporter.write_line(f"{took:7.1f} s  {file}")
