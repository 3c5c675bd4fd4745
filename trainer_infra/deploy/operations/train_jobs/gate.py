"""What the engine asks about the gate of a batch of TrainJobs: check, diff, create, read, update.

One gate waits for all members and then fails with every member that failed or cannot go on, unless
so many are tolerated (design rules 3 and 6). It shares its parts with the gate of one TrainJob:
`operations.gate`.
"""

import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from trainer_infra.deploy.operations import changes, gate, train_job_result
from trainer_infra.deploy.operations.answers import (
    CheckAnswer,
    CreateAnswer,
    Difference,
    Present,
    UnfinishedOperation,
)
from trainer_infra.deploy.operations.batch_properties import (
    BatchGateProperties,
    BatchProperties,
    MemberEntry,
)
from trainer_infra.deploy.operations.gate import Progress, Silence, Stuck
from trainer_infra.deploy.operations.place import place_of_batch
from trainer_infra.deploy.operations.session import StackSession
from trainer_infra.deploy.operations.train_jobs import members
from trainer_infra.deploy.operations.train_jobs.members import member_lines
from trainer_infra.errors import NotAvailable, Problem, Unreadable
from trainer_infra.json_values import JSONObject
from trainer_infra.kube.refusals import Unreachable
from trainer_infra.runs import sentences
from trainer_infra.runs.reports import metric_spans
from trainer_infra.runs.run import SUSPENDED, Run, owner_from_json
from trainer_infra.runs.target import Target

_TURN: Final = "waiting for a turn"
PAUSE: Final = 3
"""How many times as long as a look at all members the pause after it is: lists are large."""


@dataclass(frozen=True, slots=True)
class BatchResult:
    """How the members of a batch ended."""

    results: Mapping[str, JSONObject]
    """Status, metrics and times of those for which the event happened, by name in order."""
    troubles: Mapping[str, str]
    """Of the others why not, a sentence each, with the last lines of those that failed."""
    failed: Mapping[str, Run]
    """Those of them whose run failed."""
    no_numbers: Mapping[str, str]
    """Of members that ended well: `loss=nan`."""

    @property
    def failures(self) -> dict[str, str]:
        """What a state keeps of why members failed: a line each."""
        lines = {name: sentences.failure_line(run) for name, run in self.failed.items()}
        return {
            name: lines.get(name) or said.partition("\n")[0] for name, said in self.troubles.items()
        }


def check(olds: JSONObject, given: JSONObject, session: StackSession) -> CheckAnswer:
    """Only what is waited for can be wrong, and how many failures are tolerated."""
    checked = train_job_result.check(olds, given, session)
    batch = BatchGateProperties(given)
    tolerated = batch.tolerated
    if isinstance(tolerated, int) and tolerated >= 0:
        return checked
    what, where = "must be a whole number from 0", f"TrainJobs {batch.resource}"
    problem = Problem("tolerate_failures", what, tolerated, where=where)
    return CheckAnswer(given, (*checked.problems, problem))


def diff(olds: JSONObject, news: JSONObject, session: StackSession) -> Difference:
    """Other runs, or another event to wait for, are another wait; tolerance is judged anew.

    So are members that had failed and were run again since: their results are not known yet.
    """
    found = changes.gate_difference(olds, news, "runs")
    if found.changes:
        return found
    before, after = BatchGateProperties(olds), BatchGateProperties(news)
    again = _run_again(before, olds.get("failures") or {}, session)
    if again:
        shown = members.names_shown(again)
        session.messages(after.urn).info(f"run again since they had failed: {shown}")
    return Difference(bool(again) or before.tolerated != after.tolerated)


def _run_again(
    batch: BatchGateProperties, failures: JSONObject, session: StackSession
) -> tuple[str, ...]:
    """Members that had failed and have not now."""
    failed = {name: each for name, each in batch.runs.items() if name in failures and each.has_run}
    if not failed:
        return ()
    runs = seen_runs(batch, failed, session)
    return tuple(
        name
        for name, each in failed.items()
        if each.uid in runs and not sentences.may_be_retried(runs[each.uid])
    )


def create(given: JSONObject, session: StackSession) -> CreateAnswer:
    """Wait for all; more members that fail than are tolerated then fail the deployment."""
    return CreateAnswer(BatchGateProperties(given).resource, update({}, given, session))


def update(_olds: JSONObject, given: JSONObject, session: StackSession) -> JSONObject:
    """Look again, after members had failed or where another number of them is tolerated."""
    return {**given, **_results(BatchGateProperties(given), session)}


def _results(batch: BatchGateProperties, session: StackSession) -> JSONObject:
    """Results and failures of the members once the event happened to all.

    Raises:
        UnfinishedOperation: More members failed than are tolerated; the state keeps the results of the others.
        Unreachable: The cluster does not answer for minutes.
        Interrupted: Ctrl-C was pressed.
    """
    ended = wait_for_members(batch, session)
    failures = ended.failures
    results = {"results": ended.results, "failures": failures}
    if ended.no_numbers:
        lines = member_lines(ended.no_numbers.items())
        session.messages(batch.urn).warn(
            f"reported no numbers: {gate.NO_NUMBER}, and `best` leaves them out\n{lines}"
        )
    if not failures:
        return results
    count = f"{len(failures)} of {len(batch.runs)} TrainJobs failed or cannot go on"
    tolerated = int(batch.tolerated)
    if len(failures) > tolerated:
        allowed = f", {tolerated} may" if tolerated else ""
        # What alike members printed last is shown once.
        told = {name: _with_lines(failures[name], said) for name, said in ended.troubles.items()}
        again = sentences.retry_advice(tuple(ended.failed.values())) if ended.failed else ""
        parts = (f"{count}{allowed}", member_lines(told.items(), batch.runs), again)
        message = "\n".join(filter(None, (*parts, _others(ended))))
        raise UnfinishedOperation(message, CreateAnswer(batch.resource, results))
    lines = member_lines(failures.items(), batch.runs)
    session.messages(batch.urn).warn(f"{count}, which is tolerated\n{lines}")
    return results


def _with_lines(line: str, sentence: str) -> str:
    """The line in place of the first one of a sentence."""
    return "\n".join((line, *sentence.split("\n")[1:]))


def _others(ended: BatchResult) -> str:
    """What the members that ended well reported: no output of the program has it now."""
    if not ended.results:
        return ""
    reported = [
        (name, sentences.metrics_line(each["metrics"]) or each["status"])
        for name, each in ended.results.items()
    ]
    how = f"tolerate_failures={len(ended.troubles)} goes on with them"
    return f"{len(reported)} ended well, {how}:\n{member_lines(reported)}"


def read(state: JSONObject, session: StackSession) -> Present:
    """The results as they are now; of a run that is gone or another's, or elsewhere, as they were."""
    batch = BatchGateProperties(state)
    place = place_of_batch(batch, session)
    if place.elsewhere:
        return Present(state)
    runs = _runs_of(place.target, batch.runs)
    known = {
        name: runs[each.uid]
        for name, each in batch.runs.items()
        if each.uid in runs and not _is_of_another(batch, name, runs[each.uid])
    }
    failed = {
        name: sentences.failure_line(run)
        for name, run in known.items()
        if sentences.may_be_retried(run)
    }
    results = {name: gate.outputs_of(run) for name, run in known.items() if name not in failed}
    before = state.get("failures") or {}
    return Present(
        {
            **state,
            "results": {**members.without_keys(state["results"], failed), **results},
            "failures": {**members.without_keys(before, results), **failed},
        }
    )


def wait_for_members(batch: BatchGateProperties, session: StackSession) -> BatchResult:
    """How every member ended, once all did; starts the next ones where not all may run at once.

    Raises:
        EngineGone: The engine has ended; the runs go on.
        Unreachable: The cluster does not answer for minutes.
        Interrupted: Ctrl-C was pressed.
    """
    target, messages = session.target(batch), session.messages(batch.urn)
    watch, progress = _Watch(batch, target), Progress(messages)
    gate.warn_of_unseen(target, batch.namespaces, messages)
    while not watch.over:
        began = time.monotonic()
        watch.look()
        progress.show(watch.progress())
        if not watch.over:
            took = time.monotonic() - began
            seconds = max(gate.INTERVALS[batch.target], took * PAUSE)
            gate.pause_between_looks(session, seconds, batch.host)
    troubles = dict(watch.troubles())
    results = {
        name: gate.outputs_of(run)
        for name, run in sorted(watch.ended.items())
        if name not in troubles
    }
    failed = {name: watch.failed[name] for name in troubles if name in watch.failed}
    said = {name: sentences.no_numbers(run) for name, run in sorted(watch.ended.items())}
    no_numbers = {name: each for name, each in said.items() if each}
    return BatchResult(results, troubles, failed, no_numbers)


@dataclass(slots=True)
class _Watch:
    """What is known of the members while they are waited for."""

    batch: BatchGateProperties
    target: Target
    ended: dict[str, Run] = field(default_factory=dict)
    """Members for which the event happened."""
    failed: dict[str, Run] = field(default_factory=dict)
    """Those of `_bad` whose run failed."""
    _left: Mapping[str, Run] = field(default_factory=dict)
    """Members that are waited for, by name in order."""
    _bad: dict[str, str] = field(default_factory=dict)
    _stuck: dict[str, str] = field(default_factory=dict)
    _watches: defaultdict[str, Stuck] = field(default_factory=lambda: defaultdict(Stuck))
    _silence: Silence = field(default_factory=Silence)
    _silent: bool = False
    _runs: Mapping[str, MemberEntry] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._runs = self.batch.runs
        self._bad = {name: each.error for name, each in self._runs.items() if each.error}

    @property
    def over(self) -> bool:
        """Whether nothing is waited for any more."""
        known = self.ended.keys() | self._bad.keys() | self._stuck.keys()
        return len(known) == len(self._runs)

    def look(self) -> None:
        """Look at every member that is waited for; nothing is known while the cluster is silent."""
        waiting = {
            name: each
            for name, each in sorted(self._runs.items())
            if name not in self.ended and name not in self._bad
        }
        try:
            runs = _runs_of(self.target, waiting)
            for name, each in waiting.items():
                self._judge(name, runs.get(each.uid))
        except Unreachable as error:
            self._silence.goes_on(error)
            self._silent = True
            return
        self._silence.ends()
        self._silent = False
        over = self.ended.keys() | self._bad.keys()
        left = {name: each.uid for name, each in waiting.items() if name not in over}
        self._left = {name: runs[uid] for name, uid in left.items() if uid in runs}
        self._start_next()

    def _start_next(self) -> None:
        """Start members that were submitted suspended, as many as may run beside the others.

        One that was suspended by hand after it had started stays suspended.
        """
        limit = self.batch.max_parallel
        if limit is None:
            return
        held = [each for each in self._left.values() if gate.is_held(each)]
        active = sum(each.phase != SUSPENDED for each in self._left.values())
        for run in held[: max(0, int(limit) - active)]:
            self.target.suspend(run.key, False)

    def _judge(self, name: str, run: Run | None) -> None:
        known, until = self._runs[name], self.batch.until
        if run is None or gate.has_happened(until, run) or sentences.may_be_retried(run):
            # The list leaves out what only a look at the one run tells: last lines, reports, and
            # what is wrong with a record that cannot be read.
            try:
                run = self.target.get(*known.key.address)
            except Unreadable as error:
                self._bad[name] = str(error)
                return
        if run is None:
            self._bad[name] = gate.run_is_gone(known.name, self.batch.engine)
        elif _is_of_another(self.batch, name, run):
            self._bad[name] = f"{sentences.taken_by(run)}; run `pulumi refresh`"
        elif sentences.may_be_retried(run):
            self._bad[name], self.failed[name] = sentences.failure_lines(run), run
        elif gate.has_happened(until, run):
            self.ended[name] = run
        elif sentence := self._watches[name].trouble(run):
            self._stuck[name] = sentence
        else:
            self._stuck.pop(name, None)

    def progress(self) -> str:
        """How many members are in which phase, why the first waits, and the best so far; or a silent cluster."""
        if self._silent:
            return self._silence.why
        stuck = dict.fromkeys(self._stuck, "stuck")
        phases = {name: self._word(run) for name, run in self._left.items()}
        counts = Counter({**phases, **stuck}.values())
        counts["failed"] += len(self._bad)
        ended = f"{len(self.ended)} of {len(self._runs)} {self.batch.until}"
        parts = [f"{count} {phase}" for phase, count in sorted(counts.items()) if count]
        spans = metric_spans(self.ended)
        return f"{', '.join([ended, *parts])}{self._example()}{f'; {spans}' if spans else ''}"

    def _word(self, run: Run) -> str:
        """What is counted of a member that is waited for."""
        if run.phase != SUSPENDED or run.waiting_for:
            return run.phase.lower()
        waits_its_turn = gate.is_held(run) and self.batch.max_parallel is not None
        return _TURN if waits_its_turn else gate.BY_HAND

    def _example(self) -> str:
        """Why the first member waits, one of those that will not go on by themselves if there is."""
        waiting = [(name, run) for name, run in self._left.items() if run.waiting_for]
        waiting.sort(key=lambda each: not each[1].stuck)
        by_hand = [run for run in self._left.values() if self._word(run) == gate.BY_HAND]
        if by_hand and not (waiting and waiting[0][1].stuck):
            return f"; {sentences.resume_advice(by_hand)}"
        return f"; {waiting[0][0]}: {waiting[0][1].waiting_for}" if waiting else ""

    def troubles(self) -> Iterator[tuple[str, str]]:
        """Members that failed or cannot go on, with a sentence each, by name in order."""
        for name in sorted(self._runs):
            if sentence := self._bad.get(name) or ("" if name in self.ended else self._stuck[name]):
                yield name, sentence


def seen_runs(
    batch: BatchProperties, runs: Mapping[str, MemberEntry], session: StackSession
) -> dict[str, Run]:
    """Runs of a batch in the state, by uid, for who can do without; none where their place cannot be asked."""
    try:
        place = place_of_batch(batch, session)
        return {} if place.elsewhere else _runs_of(place.target, runs)
    except NotAvailable:
        return {}


def _runs_of(target: Target, runs: Mapping[str, MemberEntry]) -> dict[str, Run]:
    """The runs there are, by uid, with one list for each namespace."""
    spaces = sorted({each.namespace for each in runs.values() if each.has_run})
    return {run.uid: run for space in spaces for run in target.list_runs(space).runs}


def _is_of_another(batch: BatchGateProperties, member: str, run: Run) -> bool:
    """Whether a run is another owner's; an earlier release's state does not know whose it has to be."""
    if "owner" not in batch.json:
        return False
    owner = batch.owners.get(member) or members.member_owner(batch.json, member)
    return not run.owner.is_same(owner_from_json(owner))
