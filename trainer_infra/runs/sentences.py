"""Sentences and numbers about a run, as a person reads them.

Pure.
"""

import json
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final, Protocol

from trainer_infra import names
from trainer_infra.runs import attempts, failure_advice
from trainer_infra.runs.run import FAILED, FINISHED, LOST, SUSPENDED, Node, Owner, Run, RunKey

WHOLE: Final = 1000
"""From this number on, what is right of its point is not shown."""


def short_pod_name(run: Run, pod: str) -> str:
    """A pod's name without the run's: `node-0-1`."""
    return pod.removeprefix(f"{run.name}-")


def percent_done(run: Run) -> int | None:
    """Percent done of the run's last report; None before the first."""
    value: int | None = (run.status.get("trainerStatus") or {}).get("progressPercentage")
    return value


def last_metrics(run: Run) -> dict[str, str]:
    """The metrics of the run's last report, by name."""
    return attempts.metrics_of(run.status.get("trainerStatus") or {})


def metrics_line(metrics: Mapping[str, float | str]) -> str:
    """Metrics on one line, numbers with four digits: `loss=0.3333 accuracy=0.96`."""
    return " ".join(f"{name}={number_shown(value)}" for name, value in metrics.items())


def reported_line(metrics: Mapping[str, str], gap: str = " ") -> str:
    """Metrics on one line as of training that goes on, how fast it is first: `812 samples/s loss=0.3333`."""
    rate = metrics.get(names.SAMPLES_PER_SECOND)
    speed = f"{number_shown(rate)} samples/s" if rate else ""
    others = {name: each for name, each in metrics.items() if name != names.SAMPLES_PER_SECOND}
    return gap.join(filter(None, (speed, metrics_line(others))))


def settings_line(values: Mapping[str, Any]) -> str:
    """Settings on one line, exactly: `lr=0.0003 layers=[2, 2]`, with quotes where a value has blanks."""
    texts = {
        name: json.dumps(each, ensure_ascii=False)
        if not isinstance(each, str) or not each or " " in each
        else each
        for name, each in values.items()
    }
    return " ".join(f"{name}={each}" for name, each in texts.items())


def number_of(value: Any) -> float | None:
    """What can be compared of a metric or of a setting; None for `nan`, `inf` and other text."""
    try:
        number = float(value) if isinstance(value, str | int | float) else math.nan
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) and not isinstance(value, bool) else None


def no_numbers(run: Run) -> str:
    """Metrics of a run's last report that should be numbers and are none: `loss=nan`; empty without."""
    words = {name: each for name, each in last_metrics(run).items() if is_no_number(each)}
    return metrics_line(words)


def is_no_number(text: str) -> bool:
    """Whether it says a number that JSON does not have: `nan`, `-inf`, `1e999`."""
    try:
        return not math.isfinite(float(text))
    except ValueError:
        return False


def number_shown(value: float | str) -> str:
    """A number with four digits, and none of what is left of its point lost; other text as it is."""
    text = str(value)
    try:
        number = float(text)
    except ValueError:
        return text
    if not math.isfinite(number) or text.lstrip("-").isdigit():
        return text
    short = f"{number:.0f}" if abs(number) >= WHOLE else f"{number:.4g}"
    return min(text, short, key=len)


def progress_line(run: Run) -> str:
    """One line on where a run is: its phase, how long to the end, why it waits, and its nodes."""
    parts = [f"{run.name}: {run.phase.lower()}"]
    if remaining_time(run):
        parts.append(f"{remaining_time(run)} left")
    if waits_for(run):
        parts.append(f"waits: {waits_for(run)}")
    return ", ".join([*parts, *(node_line(run, each) for each in run.nodes)])


def waits_for(run: Run) -> str:
    """What a run waits for, also where that is you; empty when it waits for nothing."""
    if run.waiting_for or run.phase != SUSPENDED:
        return run.waiting_for
    return f"a resume: `{command('resume', run)}`"


def resume_advice(runs: Sequence[Run]) -> str:
    """What to do about runs that were suspended by hand, at least one: a command for each namespace."""
    return f"resume with `{_commands('resume', runs)}`"


def node_line(run: Run, node: Node) -> str:
    """One node: `node-0-1 40% loss=0.31`, its phase as long as it reported nothing."""
    done = node.phase if node.progress is None else f"{node.progress}%"
    restarts = f"{node.restarts} restarts" if node.restarts else ""
    return " ".join(
        filter(None, (short_pod_name(run, node.pod), done, reported_line(node.metrics), restarts))
    )


def failure_lines(run: Run) -> str:
    """Why a run failed, and the last lines of the pod that failed it."""
    lines = [_why_failed(run)]
    if run.failure and run.failure.last_lines:
        lines.append(f"the last lines of {run.failure.pod}:")
        lines += [f"  {line}" for line in run.failure.last_lines]
    if said := failure_advice.advice(run.message, run.failure.last_lines if run.failure else ()):
        lines.append(said)
    return "\n".join(lines)


def failure_line(run: Run) -> str:
    """Why a run failed in one line, the exception that ended its program first: Pulumi cuts long outputs."""
    why, words = _why_failed(run), failure_advice.last_words(run.failure)
    if not words or words in why:
        return why
    head, _, rest = why.partition(": ")
    return f"{head}: {words}; {rest}"


def _why_failed(run: Run) -> str:
    how = "is lost" if run.phase == LOST else "failed"
    return f"TrainJob {run.name} {how}: {' '.join((run.message or run.reason).split())}"


def failed_briefly(run: Run) -> str:
    """The same in one line, and what to do; empty of a run that did not fail."""
    if not may_be_retried(run):
        return ""
    return f"{failure_line(run)}; see `{command('logs', run)}`; `{command('retry', run)}` runs it again"


def may_be_retried(run: Run) -> bool:
    """Whether a run ended without success."""
    return run.phase in {FAILED, LOST}


def retry_advice(runs: Sequence[Run]) -> str:
    """What to do about runs that failed, at least one: a command for each namespace."""
    them = "it again as it is" if len(runs) == 1 else "them again as they are"
    return f"change the program, or run {them}: {_commands('retry', runs)}"


def no_retry(run: Run) -> str:
    """What to say of a run that cannot be run again as it is."""
    again = "; raise attempt in the program to run it again" if run.phase in FINISHED else ""
    return f"{run.name} has not failed, it is {run.phase.lower()}{again}"


def submitted_line(runs: Sequence[RunKey]) -> str:
    """What to say of runs that were just submitted, at least one."""
    first = runs[0]
    follow = f"`{_command('logs -f', first.name, first.namespace)}` follows"
    if len(runs) == 1:
        return f"{first.name} is submitted; {follow} it"
    lists = f"`{_command('get', '', first.namespace)}` lists them"
    return f"{len(runs)} runs are submitted; {lists}, {follow} one"


def complete_line(run: Run) -> str:
    """How a run ended well: `digits is complete after 12s: loss=0.31`."""
    after = f" after {time_between(run.started, run.finished)}" if run.started else ""
    after += f" and {run.attempts.wholly()}" if run.attempts.total > 1 else ""
    reported = metrics_line(last_metrics(run))
    return f"{run.name} is complete{after}{f': {reported}' if reported else ''}"


def seconds_between(since: str, until: str = "") -> float:
    """Seconds between two RFC 3339 times, the second one now when empty; clocks may differ."""
    end = datetime.fromisoformat(until) if until else datetime.now(UTC)
    return max(0.0, (end - datetime.fromisoformat(since)).total_seconds())


def remaining_time(run: Run) -> str:
    """The time until the end as the run's last report estimates it: `5m`; empty without one."""
    seconds = (run.status.get("trainerStatus") or {}).get("estimatedRemainingSeconds")
    return "" if seconds is None or is_finished(run) else duration_shown(seconds)


def time_between(since: str, until: str = "") -> str:
    """The time between two RFC 3339 times, the second one now when empty: `3m`, `2h`, `12s`."""
    return duration_shown(seconds_between(since, until))


def duration_shown(time: float) -> str:
    """Seconds as a person reads them."""
    seconds = int(time)
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= 2 * size:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"


class OwnedRun(Protocol):
    """What says whose a run is: the run, or its record in a cluster."""

    @property
    def key(self) -> RunKey:
        """What finds it again."""

    @property
    def owner(self) -> Owner:
        """Who declared it, or adopted it last."""


def taken_by(run: OwnedRun) -> str:
    """What to say to who had a run that another owner has now."""
    return f"{run.key.shown()} belongs to {run.owner.shown()} now"


def exists_already(run: OwnedRun, owner: Owner) -> str:
    """What to say to an owner who would submit a run where this one is."""
    what = f"exists and belongs to {run.owner.shown()}"
    if run.owner.is_same(owner):
        what = "exists with other content"
    return f"{run.key.shown()} {what}; choose another name, delete it, or set adopt=True to take its place"


def left_alone(key: RunKey, whose: str) -> str:
    """What to say of a run that is not deleted, because another owner has it."""
    return f"{key.shown()} is left alone: it belongs to {whose} now"


def is_finished(run: Run) -> bool:
    """Whether a run has ended, well or not."""
    return run.phase in FINISHED


def command(verb: str, run: Run) -> str:
    """A command line about a run: `trainer-infra logs digits -n team`."""
    return _command(verb, run.name, run.namespace)


def _commands(verb: str, runs: Sequence[Run]) -> str:
    """The command about several runs, one for each namespace."""
    found = defaultdict(list)
    for run in runs:
        found[run.namespace].append(run.name)
    return " && ".join(_command(verb, " ".join(each), space) for space, each in found.items())


def _command(verb: str, name: str, namespace: str) -> str:
    elsewhere = f"-n {namespace}" if namespace != names.DEFAULT_NAMESPACE else ""
    return " ".join(filter(None, ("trainer-infra", verb, name, elsewhere)))
