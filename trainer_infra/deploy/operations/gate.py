"""Waiting for runs: progress while they go on, a sentence of each that fails, outputs of those that end.

A gate of one TrainJob and that of a batch wait in the same way (`RunWatch`). Rules: design rules 3 and 6.
"""

import json
import math
import time
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final

from trainer_infra.deploy.operations import targets
from trainer_infra.deploy.operations.batch_properties import GateProperties, MemberEntry
from trainer_infra.deploy.operations.session import Messages, StackSession
from trainer_infra.errors import Interrupted, TrainerInfraError, Unreadable
from trainer_infra.kube.refusals import Unreachable
from trainer_infra.runs import sentences, terminal_lines, waiting_cause
from trainer_infra.runs.run import COMPLETE, FAILED, LOST, RUNNING, SUSPENDED, LogSelection, Run
from trainer_infra.runs.target import Target

INTERVALS: Final[Mapping[str, float]] = {targets.LOCAL: 0.2, targets.KUBERNETES: 1.0}
"""Seconds between two looks at a run, by target."""
PAUSE_PER_LOOK: Final = 3
"""How many times as long as a look the pause after it is at least: lists are large."""
BY_HAND: Final = "suspended by hand"
"""What is said of a run that is waited for and that neither its program nor Kueue holds back."""
HEARTBEAT: Final = 5.0
"""Seconds after which a message is repeated, which also tells whether the engine still lives."""
SILENT: Final = 1.0
"""Seconds between two looks for the first line of a run's log."""
LINE: Final = 120
"""Characters that are shown of a line of a log."""
PAUSE: Final = 5.0
"""Seconds between two looks from which on the cluster is taken to have been away."""
RECOVERY: Final = 20.0
"""Seconds that a run has after that: kubelets report every ten."""
NO_NUMBER: Final = "in the program these metrics are None"
"""What becomes of what JSON has no number for."""
UNREACHABLE_FOR: Final = 300.0
"""Seconds that a cluster may not answer before that fails the wait."""


class RunWatch(ABC):
    """Runs that are waited for, by name: the members of a batch, and of a TrainJob its only one."""

    def __init__(self, waits: GateProperties, target: Target) -> None:
        self.waits, self.target = waits, target
        self._runs: Final = dict(sorted(waits.runs.items()))
        self.left: Mapping[str, Run] = {}
        """Those that are waited for, as they were at the last look."""
        self.ended: Final[dict[str, Run]] = {}
        """Those for which the event happened."""
        self.failed: Final[dict[str, Run]] = {}
        """Those that failed or are lost."""
        self.bad = {name: each.error for name, each in self._runs.items() if each.error}
        """Why the event will not happen to one: a sentence, with the last lines of one that failed."""
        self.stuck: Final[dict[str, str]] = {}
        """Why one does not go on now, by a sentence."""
        self._watches: Final = defaultdict[str, Stuck](Stuck)
        self._silent_since, self._silence = math.inf, ""

    def wait(self, session: StackSession) -> None:
        """Look until nothing is waited for any more; starts the next ones where not all may run at once.

        Raises:
            EngineGone: The engine has ended; the runs go on.
            Unreachable: The cluster does not answer for minutes.
            Interrupted: Ctrl-C was pressed.
        """
        messages, is_first = session.messages(self.waits.urn), True
        progress = Progress(messages)
        while True:
            began = time.monotonic()
            self._look()
            seconds = max(INTERVALS[self.waits.target], (time.monotonic() - began) * PAUSE_PER_LOOK)
            is_over = len(self.ended) + len(self.bad) + len(self.stuck) == len(self._runs)
            if is_first and not is_over:
                for sentence in filter(None, map(self.target.unseen, self.waits.namespaces)):
                    messages.warn(sentence)
            is_first = False
            if line := self._silence or self.progress():
                progress.show(line)
            if is_over:
                return
            if session.cancelled.wait(seconds):
                # A gate only reads, so nothing is left half-made.
                raise Interrupted(
                    f"the wait was interrupted; what runs on {self.waits.host} goes on, and the next "
                    "`pulumi up` waits for it again"
                )

    @abstractmethod
    def progress(self) -> str:
        """How far they are, in a line; empty where there is nothing to say."""

    @property
    def troubles(self) -> dict[str, str]:
        """Why the event did not happen, of each that failed or cannot go on."""
        return dict(sorted((self.bad | self.stuck).items()))

    @property
    def retry_advice(self) -> str:
        """What to do about those that failed; empty where none did."""
        failed = [run for _, run in sorted(self.failed.items())]
        return sentences.retry_advice(failed) if failed else ""

    def _look(self) -> None:
        """Look at every one that is waited for; nothing is known while the cluster is silent."""
        over = self.ended.keys() | self.bad.keys()
        waiting = {name: each for name, each in self._runs.items() if name not in over}
        try:
            listed = runs_by_uid(self.target, waiting) if len(waiting) > 1 else {}
            seen = {
                name: self._judged(name, listed.get(each.uid)) for name, each in waiting.items()
            }
        except Unreachable as error:
            self._silent_since = min(self._silent_since, time.monotonic())
            if time.monotonic() - self._silent_since > UNREACHABLE_FOR:
                raise
            self._silence = f"the cluster does not answer, trying again: {error}"
            return
        self._silent_since, self._silence = math.inf, ""
        self.left = {name: run for name, run in seen.items() if run is not None}
        self._start_next()

    def _judged(self, name: str, run: Run | None) -> Run | None:
        """The run if it is waited for further."""
        known, until = self._runs[name], self.waits.until
        self.stuck.pop(name, None)
        if run is None or has_happened(until, run) or sentences.may_be_retried(run):
            # The list leaves out what only a look at the one run tells: last lines, reports, and
            # what is wrong with a record that cannot be read.
            try:
                run = self.target.get(*known.key.address)
            except Unreadable as error:
                self.bad[name] = str(error)
                return None
        if run is None:
            self.bad[name] = run_is_gone(known.name, self.waits.engine)
        elif self.waits.is_of_another(name, run):
            self.bad[name] = f"{sentences.taken_by(run)}; run `pulumi refresh`"
        elif sentences.may_be_retried(run):
            self.bad[name], self.failed[name] = sentences.failure_lines(run), run
        elif has_happened(until, run):
            self.ended[name] = run
        else:
            if sentence := self._watches[name].trouble(run):
                self.stuck[name] = sentence
            return run
        return None

    def _start_next(self) -> None:
        """Start members that were submitted suspended, as many as may run beside the others.

        One that was suspended by hand after it had started stays suspended.
        """
        limit = self.waits.max_parallel
        if limit is None:
            return
        held = [each for each in self.left.values() if is_held(each)]
        active = sum(each.phase != SUSPENDED for each in self.left.values())
        for run in held[: max(0, int(limit) - active)]:
            self.target.suspend(run.key, False)


def runs_by_uid(target: Target, runs: Mapping[str, MemberEntry]) -> dict[str, Run]:
    """The runs there are, with one list for each namespace."""
    spaces = sorted({each.namespace for each in runs.values() if each.has_run})
    return {run.uid: run for space in spaces for run in target.list_runs(space).runs}


def has_happened(until: str, run: Run) -> bool:
    """Whether what is waited for is reached."""
    return run.phase == COMPLETE or (until == "running" and run.phase == RUNNING)


def is_held(run: Run) -> bool:
    """Whether a member was submitted suspended, and its turn has not come; a person did not do that."""
    return run.phase == SUSPENDED and not run.started


class NewestLine:
    """The newest line of a run that reports nothing: a progress bar may be all that tells how far it is."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._line, self._looked = "", -math.inf

    def of(self, run: Run) -> str:
        """What its first node said last, as of some seconds ago; empty where it says more otherwise."""
        if run.phase != RUNNING or run.waiting_for or not run.nodes:
            return ""
        if sentences.percent_done(run) is not None or sentences.last_metrics(run):
            return ""
        if time.monotonic() - self._looked >= (HEARTBEAT if self._line else SILENT):
            self._looked = time.monotonic()
            with suppress(TrainerInfraError):
                wanted = LogSelection(pod=run.nodes[0].pod, tail=1)
                said = [line for _, line in self._target.logs(run.key, wanted)]
                self._line = terminal_lines.without_colours(said[-1])[:LINE] if said else ""
        return self._line


class Stuck:
    """How long one run has waited for the same thing, and whether that ends the wait (`runs.waiting_cause.GATES`).

    When an API server comes back, nodes have not been heard for as long as it was away, and are taken
    for lost until they report: who becomes stuck after a pause has time to recover.

    What a gate finds when it begins may have been cured since: what Kubernetes says of it is from the
    last try, and controllers try again after pauses that grow as the run does.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._looked = math.inf
        self._cause, self._since = "", math.inf
        self._next_try = self._not_before = 0.0

    def trouble(self, run: Run) -> str:
        """What to say of a run that is stuck for long enough; else empty. Called at every look."""
        now = self._clock()
        if run.cause != self._cause:
            if now - self._looked > PAUSE:
                self._not_before = now + RECOVERY
            is_first = self._looked == math.inf
            self._next_try = (
                min(sentences.seconds_between(run.created), waiting_cause.LATE) if is_first else 0.0
            )
            self._cause, self._since = run.cause, now
        self._looked = now
        limit = waiting_cause.ends_after(run.cause)
        if limit is None or now < max(self._since + max(limit, self._next_try), self._not_before):
            return ""
        return (
            f"TrainJob {run.name} is stuck: {run.stuck or run.waiting_for}\n"
            "it stays in the cluster, the next `pulumi up` waits for it again"
        )


def run_is_gone(name: str, engine: str) -> str:
    """What to say of a run that is not there any more."""
    if engine == targets.CONTROLLER:
        return f"TrainJob {name} was deleted while it was waited for; raise attempt to run it again"
    return f"TrainJob {name} is gone; run `pulumi refresh`, then `pulumi up`"


class Progress:
    """Shows where a run is, when that changed, and now and then, to learn whether the engine lives (`EngineGone`)."""

    def __init__(self, messages: Messages) -> None:
        self._messages = messages
        self._last, self._at = "", 0.0

    def show(self, message: str) -> None:
        """Show it, unless it was just shown."""
        if message == self._last and time.monotonic() - self._at <= HEARTBEAT:
            return
        self._last, self._at = message, time.monotonic()
        self._messages.status(message)


def status_line(run: Run, newest: str = "") -> str:
    """One line on where a run is: why it waits, or how far it is, with its last metrics or its `newest` line.

    What one wants to know first comes first: a narrow terminal cuts the end.
    """
    if run.waiting_for or run.phase == SUSPENDED:
        # A program that waits for a run declares none that is suspended.
        return run.waiting_for or f"{BY_HAND}: {sentences.resume_advice((run,))}"
    done, left = sentences.percent_done(run), sentences.remaining_time(run)
    parts = (
        "" if done is None else f"{done}%",
        f"{left} left" if left else "",
        newest,
        run.attempts.briefly(),
        sentences.reported_line(sentences.last_metrics(run), gap="  "),
        run.phase.lower(),
    )
    return "  ".join(filter(None, parts))


def outputs_of(run: Run) -> dict[str, Any]:
    """What a gate knows of a run."""
    known: dict[str, Any] = {
        "status": phase_of(run),
        "metrics": metric_values(sentences.last_metrics(run)),
        "nodes": {
            sentences.short_pod_name(run, each.pod): metric_values(each.metrics)
            for each in run.nodes
            if each.metrics
        },
        "outputs": dict(run.outputs),
        "startedAt": run.started,
        "finishedAt": run.finished,
    }
    if run.started and run.finished:
        known["durationSeconds"] = sentences.seconds_between(run.started, run.finished)
    return known


def phase_of(run: Run) -> str:
    """The phase, and for a failed run why."""
    return f"{run.phase}: {run.message}" if run.phase in {FAILED, LOST} else run.phase


def metric_values(reported: Mapping[str, str]) -> dict[str, float | str]:
    """Each metric as a number, or as it is where it is none that JSON has (`nan`, words)."""
    return {name: _metric(text) for name, text in reported.items()}


def _metric(text: str) -> float | str:
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if type(value) in {int, float} and math.isfinite(value) else text
