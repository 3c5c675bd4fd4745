"""What a driver sees of one TrainJob's world: the input of `lifecycle.plan` and of two phases.

Plugins read it to leave a running object alone and to report a status; nobody changes it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

JSON = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Observed:
    """Live objects, in wire form."""

    jobset: JSON | None
    """The JobSet named as the TrainJob, with its status; None when there is none."""
    snapshot: JSON | None = None
    """The runtime snapshot ConfigMap; None when there is none."""
    objects: tuple[JSON, ...] = ()
    """Every other object that the TrainJob owns: Secrets, ConfigMaps, PodGroups."""
    pods: tuple[JSON, ...] = ()
    """The JobSet's pods with their status."""
    jobs: tuple[JSON, ...] = ()
    """The JobSet's Jobs with their status, where a driver read them."""
    events_written: frozenset[tuple[str, str]] = frozenset()
    """Reason and message of events of this TrainJob that were written: they are written once."""

    def find(self, kind: str, name: str) -> JSON | None:
        """The object of that kind and name among `objects`."""
        return next(
            (
                each
                for each in self.objects
                if each["kind"] == kind and each["metadata"]["name"] == name
            ),
            None,
        )
