"""What an implementation of the control plane does not do as the published SDK expects it."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import pytest

from tests.e2e.jobs import LONG

DEFECTS: Final[Mapping[str, Mapping[str, str]]] = {
    "builtin": {},
    "upstream": {
        "test_a_suspended_trainjob_runs_again_once_it_is_resumed": (
            "sdk#803: status.conditions keeps Suspended=False after a resume, and the SDK asks the "
            "pods only while there is no condition"
        ),
        "test_an_event_of_the_trainjob_says_why_it_failed": (
            "trainer#2713: a TrainJob has no event but that of an error, so its SDK shows those of "
            "pods, which do not say how a container ended"
        ),
        "test_an_event_says_why_no_node_is_found": (
            "trainer#2713: the scheduler's event of a pod has no firstTimestamp, and no event of the "
            "TrainJob says the same"
        ),
        "test_an_event_of_the_trainjob_says_why_it_has_no_jobset": (
            "trainer#3671: its recorder writes events.k8s.io, whose events have an eventTime and no "
            "firstTimestamp, without which the SDK drops them"
        ),
    },
}
"""By implementation, the test that shows it, and why; a defect that no longer shows fails its test."""


@dataclass(frozen=True)
class Expectation:
    """What one test expects of an implementation."""

    defect: str
    """Why it does not hold; empty where it does."""

    @property
    def patience(self) -> float:
        """Seconds to wait for it."""
        return 5.0 if self.defect else LONG

    @contextmanager
    def met(self) -> Iterator[None]:
        """Checks inside hold exactly where no defect is written down."""
        try:
            yield
        except AssertionError:
            if self.defect:
                pytest.xfail(self.defect)
            raise
        assert not self.defect, f"this no longer shows, take it out of DEFECTS: {self.defect}"
