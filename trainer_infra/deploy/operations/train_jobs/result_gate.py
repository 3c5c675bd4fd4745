"""What the engine asks about the gate of a TrainJob, or of a batch: check, diff, create, read, update.

`gate` waits. Then the gate of a TrainJob fails if its run failed, that of a batch with every member that
failed or cannot go on, unless so many are tolerated (design rules 3 and 6).
"""

from collections import Counter
from collections.abc import Mapping
from typing import Final

from typing_extensions import override

from trainer_infra.deploy.operations import gate
from trainer_infra.deploy.operations.answers import (
    CheckAnswer,
    CreateAnswer,
    Difference,
    Present,
    UnfinishedOperation,
)
from trainer_infra.deploy.operations.batch_properties import BatchProperties, GateProperties
from trainer_infra.deploy.operations.place import place_of_runs
from trainer_infra.deploy.operations.session import StackSession
from trainer_infra.deploy.operations.train_jobs import members
from trainer_infra.deploy.operations.train_jobs.members import member_lines
from trainer_infra.deploy.operations.values import differing
from trainer_infra.errors import NotAvailable, Problem, RunFailed, Unreadable
from trainer_infra.json_values import JSONObject
from trainer_infra.runs import sentences
from trainer_infra.runs.reports import metric_spans
from trainer_infra.runs.run import COMPLETE, SUSPENDED, Run
from trainer_infra.runs.target import Target

EVENTS: Final = ("running", "complete")
"""What a gate can wait for."""


def check(_olds: JSONObject, given: JSONObject, _session: StackSession) -> CheckAnswer:
    """Only the event to wait for can be wrong, and of a batch how many failures are tolerated."""
    waits, problems = GateProperties(given), []
    if waits.until not in EVENTS:
        events = " or ".join(map(repr, EVENTS))
        problems.append(Problem("wait_for", f"must be {events}", got=waits.until))
    if not isinstance(waits.tolerated, int) or waits.tolerated < 0:
        what = "must be a whole number from 0"
        problems.append(Problem("tolerate_failures", what, waits.tolerated, where=waits.shown))
    return CheckAnswer(given, tuple(problems))


def diff(olds: JSONObject, news: JSONObject, session: StackSession) -> Difference:
    """Other runs, or another event to wait for, are another wait; tolerance is judged anew.

    So are members that had failed and were run again since: their results are not known yet.
    """
    before, after = GateProperties(olds), GateProperties(news)
    replaces = differing(("runs" if after.is_of_batch else "uid", "until"), olds, news)
    if replaces or not after.is_of_batch:
        # The run's own difference says it: `pulumi up` would write changed inputs into the column in
        # which the gate says how far the run is, before that.
        return Difference(bool(replaces), replaces, paths={})
    known, failures = before.runs, olds.get("failures") or {}
    runs = seen_runs(before, session) if failures else {}
    now = {name: runs.get(known[name].uid) for name in failures if name in known}
    again = [name for name, run in now.items() if run and not sentences.may_be_retried(run)]
    if again:
        shown = members.names_shown(again)
        session.messages(after.urn).info(f"run again since they had failed: {shown}")
    return Difference(bool(again) or before.tolerated != after.tolerated)


def create(given: JSONObject, session: StackSession) -> CreateAnswer:
    """Wait for all; a run that fails, or more members than are tolerated, then fail the deployment.

    Raises:
        RunFailed: The run failed, with pod, reason, exit code and last lines; or it is stuck, or gone.
        UnfinishedOperation: More members failed than are tolerated; the state keeps the results of the others.
    """
    waits = GateProperties(given)
    if waits.is_of_batch:
        return CreateAnswer(waits.resource, update({}, given, session))
    watch = _OneRunWatch(waits, session.target(waits))
    watch.wait(session)
    if watch.troubles:
        raise RunFailed("\n".join(filter(None, (*watch.troubles.values(), watch.retry_advice))))
    (run,) = watch.ended.values()
    if said := sentences.no_numbers(run):
        message = f"TrainJob {run.name} reported {said}: {gate.NO_NUMBER}"
        session.messages(waits.urn).warn(message)
    return CreateAnswer(f"{waits.namespace}/{waits.name}", {**given, **gate.outputs_of(run)})


def update(_olds: JSONObject, given: JSONObject, session: StackSession) -> JSONObject:
    """Look at a batch again, after members had failed or where another number of them is tolerated."""
    batch = GateProperties(given)
    watch, messages = _MembersWatch(batch, session.target(batch)), session.messages(batch.urn)
    watch.wait(session)
    troubles, ended = watch.troubles, dict(sorted(watch.ended.items()))
    # What a state keeps of why a member failed is a line.
    failures = {
        name: sentences.failure_line(watch.failed[name])
        if name in watch.failed
        else said.partition("\n")[0]
        for name, said in troubles.items()
    }
    results = {name: gate.outputs_of(run) for name, run in ended.items()}
    outputs = {"results": results, "failures": failures}
    if lines := member_lines((name, sentences.no_numbers(run)) for name, run in ended.items()):
        said = f"reported no numbers: {gate.NO_NUMBER}, and `best` leaves them out\n{lines}"
        messages.warn(said)
    if not failures:
        return {**given, **outputs}
    count = f"{len(failures)} of {len(batch.runs)} TrainJobs failed or cannot go on"
    tolerated = int(batch.tolerated)
    if len(failures) > tolerated:
        allowed = f", {tolerated} may" if tolerated else ""
        # What alike members printed last is shown once.
        told = (
            (name, "\n".join((failures[name], *said.split("\n")[1:])))
            for name, said in troubles.items()
        )
        lines = member_lines(told, batch.runs)
        parts = (f"{count}{allowed}", lines, watch.retry_advice, _others(results, len(failures)))
        message = "\n".join(filter(None, parts))
        raise UnfinishedOperation(message, CreateAnswer(batch.resource, outputs))
    lines = member_lines(failures.items(), batch.runs)
    messages.warn(f"{count}, which is tolerated\n{lines}")
    return {**given, **outputs}


def _others(results: Mapping[str, JSONObject], failed: int) -> str:
    """What the members that ended well reported: no output of the program has it now."""
    lines = member_lines(
        (name, sentences.metrics_line(each["metrics"]) or each["status"])
        for name, each in results.items()
    )
    how = f"tolerate_failures={failed} goes on with them"
    return f"{len(results)} ended well, {how}:\n{lines}" if results else ""


def read(state: JSONObject, session: StackSession) -> Present | None:
    """The results as they are now; elsewhere, or of a run that is unreadable, they stay as they were.

    So do those of a member whose run is gone or another's; with its run the gate of a TrainJob is gone too.
    """
    waits = GateProperties(state)
    place = place_of_runs(waits, session)
    if place.elsewhere:
        return Present(state)
    if waits.is_of_batch:
        return _read_batch(waits, gate.runs_by_uid(place.target, waits.runs))
    try:
        run = place.target.get(waits.namespace, waits.name)
    except Unreadable:
        # The TrainJob's own refresh says it.
        return Present(state)
    if run is None or waits.is_of_another("", run):
        return None
    return Present({**state, **gate.outputs_of(run)})


def _read_batch(batch: GateProperties, runs: Mapping[str, Run]) -> Present:
    seen = ((name, runs.get(each.uid)) for name, each in batch.runs.items())
    known = {name: run for name, run in seen if run and not batch.is_of_another(name, run)}
    retried = ((name, run) for name, run in known.items() if sentences.may_be_retried(run))
    failed = {name: sentences.failure_line(run) for name, run in retried}
    results = {name: gate.outputs_of(run) for name, run in known.items() if name not in failed}
    state, before = batch.json, batch.json.get("failures") or {}
    now = {
        "results": {**members.without_keys(state["results"], failed), **results},
        "failures": {**members.without_keys(before, results), **failed},
    }
    return Present({**state, **now})


class _OneRunWatch(gate.RunWatch):
    """The wait for one run."""

    def __init__(self, waits: GateProperties, target: Target) -> None:
        super().__init__(waits, target)
        self._newest = gate.NewestLine(target)

    @override
    def progress(self) -> str:
        for run in self.left.values():
            return gate.status_line(run, self._newest.of(run))
        for run in self.ended.values():
            is_complete = run.phase == COMPLETE
            return sentences.complete_line(run) if is_complete else gate.status_line(run)
        return ""


class _MembersWatch(gate.RunWatch):
    """The wait for all members."""

    @override
    def progress(self) -> str:
        """How many members are in which phase, why the first waits, and the best so far."""
        stuck = dict.fromkeys(self.stuck, "stuck")
        phases = {name: self._word(run) for name, run in self.left.items()}
        counts = Counter({**phases, **stuck}.values())
        counts["failed"] += len(self.bad)
        ended = f"{len(self.ended)} of {len(self.waits.runs)} {self.waits.until}"
        parts = [f"{count} {phase}" for phase, count in sorted(counts.items()) if count]
        spans = metric_spans(self.ended)
        return f"{', '.join([ended, *parts])}{self._example()}{f'; {spans}' if spans else ''}"

    def _word(self, run: Run) -> str:
        """What is counted of a member that is waited for."""
        if run.phase != SUSPENDED or run.waiting_for:
            return run.phase.lower()
        waits_its_turn = gate.is_held(run) and self.waits.max_parallel is not None
        return "waiting for a turn" if waits_its_turn else gate.BY_HAND

    def _example(self) -> str:
        """Why the first member waits, one of those that will not go on by themselves if there is."""
        waiting = [(name, run) for name, run in self.left.items() if run.waiting_for]
        waiting.sort(key=lambda each: not each[1].stuck)
        by_hand = [run for run in self.left.values() if self._word(run) == gate.BY_HAND]
        if by_hand and not (waiting and waiting[0][1].stuck):
            return f"; {sentences.resume_advice(by_hand)}"
        return f"; {waiting[0][0]}: {waiting[0][1].waiting_for}" if waiting else ""


def seen_runs(batch: BatchProperties, session: StackSession) -> dict[str, Run]:
    """Runs of a batch in the state, by uid, for who can do without; none where their place cannot be asked."""
    try:
        place = place_of_runs(batch, session)
        return {} if place.elsewhere else gate.runs_by_uid(place.target, batch.runs)
    except NotAvailable:
        return {}
