"""Waiting for a TrainJob: progress while it runs, a sentence when it fails, outputs at its end.

Rules: design rule 3.
"""

import json
import math
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any, Final

from trainer_infra.deploy.operations import targets
from trainer_infra.deploy.operations.properties import GateProperties
from trainer_infra.deploy.operations.session import Messages, StackSession
from trainer_infra.errors import Interrupted, NotAvailable, RunFailed, TrainerInfraError
from trainer_infra.kube.refusals import Unreachable
from trainer_infra.runs import sentences, terminal_lines, waiting_cause
from trainer_infra.runs.run import COMPLETE, FAILED, LOST, RUNNING, SUSPENDED, LogSelection, Run
from trainer_infra.runs.target import Target

EVENTS: Final = ("running", "complete")
"""What a gate can wait for."""
INTERVALS: Final[Mapping[str, float]] = {targets.LOCAL: 0.2, targets.KUBERNETES: 1.0}
"""Seconds between two looks at a run, by target."""
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


def wait_for_run(given: GateProperties, session: StackSession) -> dict[str, Any]:
    """Outputs of the gate once the event has happened.

    Raises:
        EngineGone: The engine has ended; the run goes on.
        RunFailed: The run failed, with pod, reason, exit code and last lines; or it is stuck.
        NotAvailable: The run is gone, or its cluster does not answer for minutes.
        Interrupted: Ctrl-C was pressed.
    """
    target, messages = session.target(given), session.messages(given.urn)
    progress, silence, stuck = Progress(messages), Silence(), Stuck()
    newest, is_first = NewestLine(target), True
    while True:
        run = _look(given, target, silence)
        if run is not None:
            if sentence := failure_of_run(run) or stuck.trouble(run):
                raise RunFailed(sentence)
            if has_happened(given.until, run):
                if said := sentences.no_numbers(run):
                    messages.warn(f"TrainJob {run.name} reported {said}: {NO_NUMBER}")
                is_complete = run.phase == COMPLETE
                progress.show(sentences.complete_line(run) if is_complete else status_line(run))
                return outputs_of(run)
        if is_first:
            warn_of_unseen(target, (given.namespace,), messages)
            is_first = False
        progress.show(silence.why if run is None else status_line(run, newest.of(run)))
        pause_between_looks(session, INTERVALS[given.target], given.host)


def warn_of_unseen(target: Target, namespaces: Iterable[str], messages: Messages) -> None:
    """Say what this account may not read of what it waits for."""
    for sentence in filter(None, map(target.unseen, namespaces)):
        messages.warn(sentence)


def has_happened(until: str, run: Run) -> bool:
    """Whether what is waited for is reached."""
    return run.phase == COMPLETE or (until == "running" and run.phase == RUNNING)


def is_held(run: Run) -> bool:
    """Whether a member was submitted suspended, and its turn has not come; a person did not do that."""
    return run.phase == SUSPENDED and not run.started


def _look(given: GateProperties, target: Target, silence: "Silence") -> Run | None:
    """The run as it is now; None while its cluster does not answer."""
    try:
        run = target.get(*given.key.address)
    except Unreachable as error:
        silence.goes_on(error)
        return None
    silence.ends()
    if run is None:
        raise NotAvailable(run_is_gone(given.name, given.engine))
    if given.is_of_another(run):
        raise NotAvailable(f"{sentences.taken_by(run)}; run `pulumi refresh`")
    return run


class Silence:
    """How long a cluster has not answered."""

    def __init__(self) -> None:
        self._since = math.inf
        self.why = ""

    def goes_on(self, error: Unreachable) -> None:
        """It did not answer again.

        Raises:
            Unreachable: For too long now.
        """
        self._since = min(self._since, time.monotonic())
        if time.monotonic() - self._since > UNREACHABLE_FOR:
            raise error
        self.why = f"the cluster does not answer, trying again: {error}"

    def ends(self) -> None:
        """It answered."""
        self._since = math.inf


class NewestLine:
    """The newest line of a run that reports nothing: a progress bar may be all that tells how far it is."""

    def __init__(self, target: Target, clock: Callable[[], float] = time.monotonic) -> None:
        self._target, self._clock = target, clock
        self._line, self._looked = "", -math.inf

    def of(self, run: Run) -> str:
        """What its first node said last, as of some seconds ago; empty where it says more otherwise."""
        if run.phase != RUNNING or run.waiting_for or not run.nodes or has_reported(run):
            return ""
        if self._clock() - self._looked >= (HEARTBEAT if self._line else SILENT):
            self._looked = self._clock()
            with suppress(TrainerInfraError):
                wanted = LogSelection(pod=run.nodes[0].pod, tail=1)
                said = [line for _, line in self._target.logs(run.key, wanted)]
                self._line = terminal_lines.without_colours(said[-1])[:LINE] if said else ""
        return self._line


class Stuck:
    """How long one run has waited for the same thing, and whether that ends the wait.

    Which causes do, and after how long, is a table: `runs.waiting_cause.GATES`.

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


def failure_of_run(run: Run) -> str:
    """Why a run will not end well, and what to do; empty as long as it may."""
    if not sentences.may_be_retried(run):
        return ""
    return f"{sentences.failure_lines(run)}\n{sentences.retry_advice((run,))}"


def run_is_gone(name: str, engine: str) -> str:
    """What to say of a run that is not there any more."""
    if engine == targets.CONTROLLER:
        return f"TrainJob {name} was deleted while it was waited for; raise attempt to run it again"
    return f"TrainJob {name} is gone; run `pulumi refresh`, then `pulumi up`"


class Progress:
    """Shows where a run is, when that changed and now and then; a wait between two looks.

    Now and then also tells whether the engine still lives: without it the wait is for nothing
    (`EngineGone`).
    """

    def __init__(self, messages: Messages) -> None:
        self._messages = messages
        self._last, self._at = "", 0.0

    def show(self, message: str) -> None:
        """Show it, unless it was just shown."""
        if message == self._last and time.monotonic() - self._at <= HEARTBEAT:
            return
        self._last, self._at = message, time.monotonic()
        self._messages.status(message)


def pause_between_looks(session: StackSession, seconds: float, where: str) -> None:
    """Wait until the next look.

    Args:
        session: may be cancelled meanwhile.
        seconds: how long.
        where: what goes on there, for the sentence.

    Raises:
        Interrupted: Ctrl-C was pressed; a gate only reads, so nothing is left half-made.
    """
    if session.cancelled.wait(seconds):
        raise Interrupted(
            f"the wait was interrupted; what runs on {where} goes on, and the next `pulumi up` "
            "waits for it again"
        )


def has_reported(run: Run) -> bool:
    """Whether its training said how far it is."""
    return sentences.percent_done(run) is not None or bool(sentences.last_metrics(run))


def status_line(run: Run, newest: str = "") -> str:
    """One line on where a run is: why it waits, or how far it is, with its last metrics.

    What one wants to know first comes first: a narrow terminal cuts the end.

    Args:
        run: as it is now.
        newest: the newest line of its log, where it has not reported.
    """
    if run.waiting_for or run.phase == SUSPENDED:
        # A program that waits for a run declares none that is suspended.
        return run.waiting_for or f"{BY_HAND}: {sentences.resume_advice((run,))}"
    done, left = sentences.percent_done(run), sentences.remaining_time(run)
    parts = (
        "" if done is None else f"{done}%",
        f"{left} left" if left else "",
        newest,
        sentences.reported_line(sentences.last_metrics(run), gap="  "),
        run.phase.lower(),
    )
    return "  ".join(filter(None, parts))


def outputs_of(run: Run) -> dict[str, Any]:
    """What a gate knows of a run."""
    nodes = {
        sentences.short_pod_name(run, each.pod): each.metrics for each in run.nodes if each.metrics
    }
    known: dict[str, Any] = {
        "status": phase_of(run),
        "metrics": metric_values(sentences.last_metrics(run)),
    }
    known |= {"nodes": {name: metric_values(each) for name, each in nodes.items()}}
    known |= {"outputs": dict(run.outputs)}
    known |= {"startedAt": run.started, "finishedAt": run.finished}
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
