"""How a run ended, as a program reads it. `operations.gate` makes it, the resources hand it over."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict

import pulumi

from trainer_infra.deploy.resource_type import python_name
from trainer_infra.json_values import as_integer


class RunResult(TypedDict):
    """What a gate knows of a run."""

    status: str
    """Its phase at the end of the wait."""
    metrics: dict[str, float | str]
    """The last metrics that node 0 (of MPI the launcher) reported, by name."""
    nodes: dict[str, dict[str, float | str]]
    """The same of each node that reported, by the pod's name without the run's: `node-0-1`."""
    outputs: dict[str, str]
    """Where each of its outputs is kept, by name."""
    started_at: str
    """RFC 3339 time at which the first pod started."""
    finished_at: str
    """RFC 3339 time at which the run ended; empty while it runs."""
    duration_seconds: NotRequired[float]
    """Seconds between the two; not there while it runs."""


class Member(TypedDict, total=False):
    """A run of a batch; without `uid` it has none, and `error` says why."""

    name: str
    """Name of the run."""
    namespace: str
    """Namespace of the run."""
    uid: str
    """Identity of the run over all time."""
    last_seen: str
    """Its phase at create and at every refresh since."""
    host: str
    """The machine or the cluster it runs on."""
    owner: dict[str, str]
    """Who declares it, where that is not the batch."""
    error: str
    """Why it has no run."""


if TYPE_CHECKING:
    Results = dict[str, RunResult]
    Members = dict[str, Member]
else:
    # The SDK compares what the engine sends with a property's type, and knows no TypedDict.
    Results = dict[str, Any]
    Members = dict[str, Any]


def with_python_names(members: Mapping[str, Mapping[str, Any]] | None) -> Any:
    """By member, the fields of an output by their names in Python: `Results` or `Members`.

    The mocks of a unit test leave out what they are not asked for.
    """
    return {
        member: {python_name(key): value for key, value in each.items()}
        for member, each in (members or {}).items()
    }


class Metrics(dict[str, float | str]):
    """The metrics of a run by name; to ask for one that it did not report is an error that says so.

    A whole one is an int, so that it can be a count of the next job.
    """

    def __init__(self, reported: Mapping[str, float | str], job: str) -> None:
        super().__init__({name: as_integer(each) for name, each in reported.items()})
        self._job = job

    def __missing__(self, name: str) -> float | str:
        known = f"it reported {', '.join(sorted(self))}" if self else "it reported none"
        raise pulumi.RunError(
            f"{self._job} did not report the metric {name!r}; {known}: see trainer_infra.report"
        )
