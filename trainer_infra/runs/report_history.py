"""What a run's training reported so far, one value per report, whatever the target. Pure."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime

from trainer_infra.json_values import JSONObject
from trainer_infra.runs import attempts, sentences
from trainer_infra.runs.run import Run


@dataclass(frozen=True, slots=True)
class PastReport:
    """One report."""

    time: str
    """When it was made, by the clock of its pod; RFC 3339, UTC, whole seconds."""
    node: str
    """Name of the pod without the run's: `node-0-0`; empty where only the run is known."""
    progress: int | None = None
    """Percent."""
    remaining: int | None = None
    """Estimated seconds to the end."""
    metrics: Mapping[str, str] = field(default_factory=dict)
    """By name: all that were reported until then, with their last values."""

    @property
    def says_something(self) -> bool:
        """Whether it says more than that there were attempts."""
        return bool(self.metrics or self.progress is not None or self.remaining is not None)


def past_report(node: str, status: JSONObject) -> PastReport:
    """The report that a valid trainerStatus in wire form is; the node is the pod's name without the run's."""
    return PastReport(
        time=status["lastUpdatedTime"],
        node=node,
        progress=status.get("progressPercentage"),
        remaining=status.get("estimatedRemainingSeconds"),
        metrics=attempts.metrics_of(status),
    )


def report_line(report: PastReport) -> str:
    """The report as a line of a file: JSON in ASCII, and a line end."""
    return f"{json.dumps(asdict(report))}\n"


def report_of_line(line: str) -> PastReport | None:
    """The report that `report_line` wrote; None where the line is none, or half of one."""
    try:
        value = json.loads(line)
        return PastReport(
            str(value["time"]),
            str(value["node"]),
            value.get("progress"),
            value.get("remaining"),
            dict(value.get("metrics") or {}),
        )
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def with_last_reports(
    run: Run, history: Sequence[PastReport], suffix: int = 0
) -> tuple[PastReport, ...]:
    """The history in order of time, with the last report of each node that has no other in it.

    What a run was last is kept longer than its history: pods take their logs with them. A pod's name has
    `suffix` characters at its end that its node does not have.
    """
    status = run.status.get("trainerStatus") or {}
    known = {each.node for each in history}
    time = status.get("lastUpdatedTime") or run.finished
    last = [
        PastReport(time, node, each.progress, None, each.metrics)
        for each in run.nodes
        if (node := sentences.short_pod_name(run, each.pod[: len(each.pod) - suffix])) not in known
        and (each.metrics or each.progress is not None)
        and time
    ]
    if not history and not last and status:
        last = [past_report("", status)]
    return tuple(sorted((*history, *last), key=lambda each: each.time))


def thinned(history: Iterable[PastReport], most: int) -> tuple[PastReport, ...]:
    """At most so many reports of a history in order of time, evenly spread over the time.

    Of each node at least two are kept, the first and the last.
    """
    nodes = defaultdict(list)
    for each in history:
        nodes[each.node].append(each)
    share = max(2, most // max(1, len(nodes)))
    kept = (each for reports in nodes.values() for each in _spread(reports, share))
    return tuple(sorted(kept, key=lambda each: each.time))


def _spread(reports: Sequence[PastReport], most: int) -> Sequence[PastReport]:
    if len(reports) <= most:
        return reports
    times = [datetime.fromisoformat(each.time).timestamp() for each in reports]
    begin, span = times[0], times[-1] - times[0]
    # The last one of each part of the time.
    parts: dict[int, PastReport] = {}
    for at, each in zip(times[1:], reports[1:], strict=True):
        part = int((at - begin) / span * (most - 1)) if span > 0 else 0
        parts[max(0, min(most - 2, part))] = each
    return (reports[0], *parts.values())
