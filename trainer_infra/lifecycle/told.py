"""Sentences and numbers about a run, as a person reads them.

Called by the command line and by the Pulumi gate, whatever the target. Pure.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Protocol

from trainer_infra.lifecycle.run import FINISHED, Node, Owner, Run


def short(run: Run, pod: str) -> str:
    """A pod's name without the run's: `node-0-1`."""
    return pod.removeprefix(f"{run.name}-")


def percent(run: Run) -> int | None:
    """Percent done of the run's last report; None before the first."""
    value: int | None = (run.status.get("trainerStatus") or {}).get("progressPercentage")
    return value


def metrics(run: Run) -> dict[str, str]:
    """The metrics of the run's last report, by name."""
    reported = (run.status.get("trainerStatus") or {}).get("metrics") or ()
    return {metric["name"]: metric["value"] for metric in reported}


def pairs(metrics: Mapping[str, str]) -> str:
    """Metrics on one line: `loss=0.31 accuracy=0.96`."""
    return " ".join(f"{name}={value}" for name, value in metrics.items())


def progress(run: Run) -> str:
    """One line on where a run is: its phase, how long to the end, why it waits, and its nodes."""
    parts = [f"{run.name}: {run.phase.lower()}"]
    if remaining(run):
        parts.append(f"{remaining(run)} left")
    if run.waiting_for:
        parts.append(f"waits: {run.waiting_for}")
    return ", ".join([*parts, *(node(run, each) for each in run.nodes)])


def node(run: Run, node: Node) -> str:
    """One node: `node-0-1 40% loss=0.31`, its phase as long as it reported nothing."""
    done = node.phase if node.progress is None else f"{node.progress}%"
    restarts = f"{node.restarts} restarts" if node.restarts else ""
    return " ".join(filter(None, (short(run, node.pod), done, pairs(node.metrics), restarts)))


def failure(run: Run) -> str:
    """Why a run failed, and the last lines of the pod that failed it."""
    lines = [f"TrainJob {run.name} failed: {run.message or run.reason}"]
    if run.failure and run.failure.last_lines:
        lines.append(f"the last lines of {run.failure.pod}:")
        lines += [f"  {line}" for line in run.failure.last_lines]
    return "\n".join(lines)


def complete(run: Run) -> str:
    """How a run ended well: `digits is complete after 12s: loss=0.31`."""
    after = f" after {length(run.started, run.finished)}" if run.started else ""
    reported = pairs(metrics(run))
    return f"{run.name} is complete{after}{f': {reported}' if reported else ''}"


def elapsed(since: str, until: str = "") -> float:
    """Seconds between two RFC 3339 times, the second one now when empty; clocks may differ."""
    end = datetime.fromisoformat(until) if until else datetime.now(UTC)
    return max(0.0, (end - datetime.fromisoformat(since)).total_seconds())


def remaining(run: Run) -> str:
    """The time until the end as the run's last report estimates it: `5m`; empty without one."""
    seconds = (run.status.get("trainerStatus") or {}).get("estimatedRemainingSeconds")
    return "" if seconds is None or finished(run) else duration(seconds)


def length(since: str, until: str = "") -> str:
    """The time between two RFC 3339 times, the second one now when empty: `3m`, `2h`, `12s`."""
    return duration(elapsed(since, until))


def duration(time: float) -> str:
    """Seconds as a person reads them."""
    seconds = int(time)
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= 2 * size:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"


class Owned(Protocol):
    """What says whose a run is: the run, or its record in a cluster."""

    @property
    def namespace(self) -> str:
        """Of the TrainJob."""

    @property
    def name(self) -> str:
        """Of the TrainJob."""

    @property
    def owner(self) -> Owner:
        """Who declared it, or adopted it last."""


def taken(run: Owned) -> str:
    """What to say to who had a run that another owner has now."""
    return f"run {run.namespace}/{run.name} belongs to {run.owner.shown()} now"


def exists(run: Owned, owner: Owner) -> str:
    """What to say to an owner who would submit a run where this one is."""
    what = f"run {run.namespace}/{run.name} exists and belongs to {run.owner.shown()}"
    if run.owner.is_same(owner):
        what = f"run {run.namespace}/{run.name} exists with other content"
    return f"{what}; choose another name, delete it, or set adopt=True to take its place"


def left_alone(namespace: str, name: str, whose: str) -> str:
    """What to say of a run that is not deleted, because another owner has it."""
    return f"run {namespace}/{name} is left alone: it belongs to {whose} now"


def finished(run: Run) -> bool:
    """Whether a run has ended, well or not."""
    return run.phase in FINISHED


def command(verb: str, run: Run) -> str:
    """A command line about a run: `trainer-infra logs digits -n team`."""
    elsewhere = f" -n {run.namespace}" if run.namespace != "default" else ""
    return f"trainer-infra {verb} {run.name}{elsewhere}"
