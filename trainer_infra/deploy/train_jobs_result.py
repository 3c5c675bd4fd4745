"""What the engine asks about the gate of a batch of TrainJobs: check, diff, create, read.

Called by `provider.TrainJobsResultProvider` with properties as JSON. One gate waits for all members
and then fails with every member that failed or cannot go on, unless so many are tolerated (design rules 3 and
6). It shares its parts with the gate of one TrainJob: `gate`.
"""

import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pulumi.dynamic import CheckResult, CreateResult, DiffResult, ReadResult, UpdateResult

from trainer_infra.deploy import boundary, gate, members, place, targets, train_job_result
from trainer_infra.deploy.boundary import Messages, Unfinished
from trainer_infra.deploy.gate import Saying, Silence, Stuck
from trainer_infra.errors import Problem, Unreadable
from trainer_infra.kube.refusals import Unreachable
from trainer_infra.runs import sentences
from trainer_infra.runs.run import SUSPENDED, Run
from trainer_infra.runs.target import Target

Properties = dict[str, Any]
JSON = Mapping[str, Any]

PAUSE: Final = 3
"""How many times as long as a look at all members the pause after it is: lists are large."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How the members of a batch ended."""

    results: Mapping[str, JSON]
    """Status, metrics and times of those for which the event happened, by name in order."""
    failures: Mapping[str, str]
    """Of the others why not, a sentence each."""
    again: str
    """What to do about those that failed; empty where none did."""


def check(given: Properties) -> CheckResult:
    """Only what is waited for can be wrong, and how many failures are tolerated."""
    judged = train_job_result.check(given)
    tolerated = given.get("tolerateFailures", 0)
    if isinstance(tolerated, int) and tolerated >= 0:
        return judged
    what, where = "must be a whole number from 0", f"TrainJobs {given['batch']}"
    problem = Problem("tolerate_failures", what, tolerated, where=where)
    return CheckResult(given, [*judged.failures, *boundary.failures((problem,))])


def diff(olds: Properties, news: Properties) -> DiffResult:
    """Other runs, or another event to wait for, are another wait; tolerance is judged anew."""
    same = not boundary.unknown(news.get("runs")) and olds["runs"] == news["runs"]
    replaces = ([] if same else ["runs"]) + (
        ["until"] if olds.get("until") != news.get("until") else []
    )
    tolerance = olds.get("tolerateFailures", 0) != news.get("tolerateFailures", 0)
    return DiffResult(
        changes=bool(replaces) or tolerance, replaces=replaces, delete_before_replace=False
    )


def create(given: Properties) -> CreateResult:
    """Wait for all; more members that fail than are tolerated then fail the deployment."""
    return CreateResult(str(given["batch"]), {**given, **outputs(given)})


def update(given: Properties) -> UpdateResult:
    """Look again, after members had failed or where another number of them is tolerated."""
    return UpdateResult({**given, **outputs(given)})


def outputs(given: JSON) -> dict[str, Any]:
    """Results and failures of the members once the event happened to all.

    Raises:
        Unfinished: More members failed than are tolerated; the state keeps the results of the others.
        Unreachable: The cluster does not answer for minutes.
        Interrupted: Ctrl-C was pressed.
    """
    messages = Messages(given["urn"])
    ended = wait(given, messages)
    failures = _first_lines(ended.failures)
    known = {"results": ended.results, "failures": failures}
    if not ended.failures:
        return known
    count = f"{len(ended.failures)} of {len(given['runs'])} TrainJobs failed or cannot go on"
    tolerated = int(given.get("tolerateFailures", 0))
    if len(ended.failures) > tolerated:
        allowed = f", {tolerated} may" if tolerated else ""
        parts = (f"{count}{allowed}", members.listed(ended.failures.items()), ended.again)
        said = "\n".join(filter(None, (*parts, _others(ended))))
        raise Unfinished(said, str(given["batch"]), known)
    messages.warn(f"{count}, which is tolerated\n{members.listed(failures.items())}")
    return known


def _others(ended: Ended) -> str:
    """What the members that ended well reported: no output of the program has it now."""
    if not ended.results:
        return ""
    reported = [
        (name, sentences.metrics_line(each["metrics"]) or each["status"])
        for name, each in ended.results.items()
    ]
    how = f"tolerate_failures={len(ended.failures)} goes on with them"
    return f"{len(reported)} ended well, {how}:\n{members.listed(reported)}"


def _first_lines(failures: Mapping[str, str]) -> dict[str, str]:
    """What a state keeps of why members failed: not the lines that they printed."""
    return {name: said.partition("\n")[0] for name, said in failures.items()}


def read(id_: str, state: Properties) -> ReadResult:
    """The results as they are now; of a run that is gone or another's, or elsewhere, as they were."""
    its = place.of_batch(state, state["runs"])
    if its.elsewhere:
        return ReadResult(id_, state)
    runs = _found(its.target, state["runs"])
    known = {
        name: runs[each["uid"]]
        for name, each in state["runs"].items()
        if each.get("uid") in runs and not gate.is_taken(_of_member(state, name), runs[each["uid"]])
    }
    failed = {
        name: sentences.failure_lines(run)
        for name, run in known.items()
        if sentences.may_be_retried(run)
    }
    results = {name: gate.outputs(run) for name, run in known.items() if name not in failed}
    before = state.get("failures") or {}
    return ReadResult(
        id_,
        {
            **state,
            "results": {**members.without(state["results"], failed), **results},
            "failures": {**members.without(before, results), **_first_lines(failed)},
        },
    )


def wait(given: JSON, messages: Messages) -> Ended:
    """How every member ended, once all did; starts the next ones where not all may run at once.

    Raises:
        Unreachable: The cluster does not answer for minutes.
        Interrupted: Ctrl-C was pressed.
    """
    all_of, saying = _All(given), Saying(messages)
    spaces = sorted({each["namespace"] for each in given["runs"].values() if "uid" in each})
    gate.warn_of_unseen(given, spaces, messages)
    while not all_of.over:
        began = time.monotonic()
        all_of.look()
        saying.say(all_of.progress())
        if not all_of.over:
            took = time.monotonic() - began
            gate.pause(max(gate.INTERVALS[given["target"]], took * PAUSE), given["host"])
    failures = dict(all_of.troubles())
    results = {
        name: gate.outputs(run)
        for name, run in sorted(all_of.ended.items())
        if name not in failures
    }
    failed = [all_of.failed[name] for name in failures if name in all_of.failed]
    return Ended(results, failures, sentences.retry_advice(failed) if failed else "")


@dataclass(slots=True)
class _All:
    """What is known of the members while they are waited for."""

    given: JSON
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

    def __post_init__(self) -> None:
        errors = {name: each.get("error") for name, each in self.given["runs"].items()}
        self._bad = {name: str(error) for name, error in errors.items() if error}

    @property
    def over(self) -> bool:
        """Whether nothing is waited for any more."""
        runs = self.given["runs"]
        return len(self.ended.keys() | self._bad.keys() | self._stuck.keys()) == len(runs)

    def look(self) -> None:
        """Look at every member that is waited for; nothing is known while the cluster is silent."""
        waiting = {
            name: each
            for name, each in sorted(self.given["runs"].items())
            if name not in self.ended and name not in self._bad
        }
        target = targets.of(self.given)
        try:
            found = _found(target, waiting)
            for name, each in waiting.items():
                self._judge(target, name, found.get(each["uid"]))
        except Unreachable as error:
            self._silence.goes_on(error)
            self._silent = True
            return
        self._silence.ends()
        self._silent = False
        over = self.ended.keys() | self._bad.keys()
        left = {name: each["uid"] for name, each in waiting.items() if name not in over}
        self._left = {name: found[uid] for name, uid in left.items() if uid in found}
        self._start_next(target)

    def _start_next(self, target: Target) -> None:
        """Start members that were submitted suspended, as many as may run beside the others.

        One that somebody suspended after it had started stays suspended.
        """
        limit = self.given.get("maxParallel")
        if limit is None:
            return
        held = [each for each in self._left.values() if gate.is_held(each)]
        active = sum(each.phase != SUSPENDED for each in self._left.values())
        for run in held[: max(0, int(limit) - active)]:
            target.suspend(run.namespace, run.name, run.uid, False, owner=run.owner)

    def _judge(self, target: Target, name: str, run: Run | None) -> None:
        known = self.given["runs"][name]
        if run is None or gate.happened(self.given, run) or sentences.may_be_retried(run):
            # The list leaves out what only a look at the one run tells: last lines, reports, and
            # what is wrong with a record that cannot be read.
            try:
                run = target.get(known["namespace"], known["name"], known["uid"])
            except Unreadable as error:
                self._bad[name] = str(error)
                return
        if run is None:
            self._bad[name] = gate.gone(known["name"])
        elif gate.is_taken(_of_member(self.given, name), run):
            self._bad[name] = f"{sentences.taken_by(run)}; run `pulumi refresh`"
        elif sentences.may_be_retried(run):
            self._bad[name], self.failed[name] = sentences.failure_lines(run), run
        elif gate.happened(self.given, run):
            self.ended[name] = run
        elif said := self._watches[name].trouble(run):
            self._stuck[name] = said
        else:
            self._stuck.pop(name, None)

    def progress(self) -> str:
        """How many members are in which phase and why the first waits, or a silent cluster."""
        if self._silent:
            return self._silence.why
        stuck = dict.fromkeys(self._stuck, "stuck")
        phases = {name: run.phase for name, run in self._left.items()}
        counts = Counter(each.lower() for each in {**phases, **stuck}.values())
        counts["failed"] += len(self._bad)
        ended = f"{len(self.ended)} of {len(self.given['runs'])} {self.given['until']}"
        parts = [f"{count} {phase}" for phase, count in sorted(counts.items()) if count]
        return f"{', '.join([ended, *parts])}{self._example()}"

    def _example(self) -> str:
        """Why the first member waits, one of those that will not go on by themselves if there is."""
        waiting = [(name, run) for name, run in self._left.items() if run.waiting_for]
        waiting.sort(key=lambda each: not each[1].stuck)
        return f"; {waiting[0][0]}: {waiting[0][1].waiting_for}" if waiting else ""

    def troubles(self) -> Iterator[tuple[str, str]]:
        """Members that failed or cannot go on, with a sentence each, by name in order."""
        for name in sorted(self.given["runs"]):
            if said := self._bad.get(name) or ("" if name in self.ended else self._stuck[name]):
                yield name, said


def _found(target: Target, runs: Mapping[str, JSON]) -> dict[str, Run]:
    """The runs there are, by uid, with one list for each namespace."""
    spaces = sorted({each["namespace"] for each in runs.values() if "uid" in each})
    return {run.uid: run for space in spaces for run in target.list_runs(space).runs}


def _of_member(given: JSON, member: str) -> JSON:
    """Whose a member's run is, as a TrainJob's gate has it; nothing in an earlier release's state."""
    if "owner" not in given:
        return {}
    other = (given.get("owners") or {}).get(member)
    return {"owner": other or members.owner(given, member)}
