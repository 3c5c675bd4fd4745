"""What is known of a run besides its JobSet and its pods: events, nodes, what Kueue has of it.

As far as the account may read it; the causes are found in it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from trainer_infra.json_values import JSONObject
from trainer_infra.runs.causes.kueue_workload import Queueing


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What else the cluster says."""

    events: Sequence[JSONObject] = ()
    """Events of the JobSet, its Jobs, pods and claims, the oldest first."""
    queueing: Queueing | None = None
    """What Kueue has of a suspended JobSet in a queue; None where it was not read."""
    jobs: Sequence[JSONObject] | None = None
    """Jobs of a JobSet that has no pods of a step; None where they were not read."""
    nodes: Mapping[str, JSONObject] = field(default_factory=dict)
    """Kubernetes nodes of pods that are not ready, by name."""


def time_of(event: JSONObject) -> str:
    """When it happened last; RFC 3339."""
    series = (event.get("series") or {}).get("lastObservedTime")
    times = (series, event.get("lastTimestamp"), event.get("eventTime"))
    found = next((each for each in times if each), event["metadata"].get("creationTimestamp"))
    return str(found or "")


def began_at(event: JSONObject) -> str:
    """When it happened first; RFC 3339."""
    times = (event.get("firstTimestamp"), event.get("eventTime"))
    found = next((each for each in times if each), event["metadata"].get("creationTimestamp"))
    return str(found or "")


def events_about(events: Sequence[JSONObject], kind: str, name: str) -> Iterator[JSONObject]:
    """The events of one object, the oldest first."""
    for each in events:
        value = each["involvedObject"]
        if value.get("kind") == kind and value.get("name") == name:
            yield each
