"""What ended the attempts of a run: of what happened to its pods, Jobs and JobSet, the first that can be the cause. Pure.

A program knows only that it was told to end, or nothing. Who told it is known while its pods are there, and from events,
which Kubernetes keeps for an hour. An attempt ended between its begin and that of the next one. A pod that is deleted ends
the others, which fail for it; a suspension deletes pods: so what has no other cause goes first, and then what was first.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import IntEnum
from typing import Final

from trainer_infra import names
from trainer_infra.json_values import JSONObject
from trainer_infra.lifecycle import conditions, early_end, failure_reason
from trainer_infra.lifecycle.failure_reason import FailureKind
from trainer_infra.runs.attempts import Attempts, PastAttempt
from trainer_infra.runs.causes.surroundings import Surroundings, began_at, time_of
from trainer_infra.runs.run import COMPLETE, FINISHED, SUSPENDED

FINISHED_WELL: Final = "finished"
BY_HAND: Final = "suspended"
LATE: Final = "its deadline passed"
_BY_KUEUE: Final = "stopped by Kueue: {message}"
EVENTS_LAST: Final = timedelta(hours=2)
"""How long ago an attempt ended of which there may be events: an API server keeps them for one, unless it is told."""
_LATE, _NEVER = "9999", "~"
"""What sorts behind every time, and behind that."""


class _Rank(IntEnum):
    """Which of several is the cause. The first two have no other cause; of the rest the earliest is one."""

    QUEUE = 0
    OUTSIDE = 1
    FAILURE = 2
    BY_JOB = 3
    TOLD = 4
    CONSEQUENCE = 5


@dataclass(frozen=True, slots=True)
class Happening:
    """What may have ended an attempt."""

    rank: _Rank
    time: str
    """RFC 3339, UTC; whole seconds are taken for their end."""
    words: str

    @property
    def order(self) -> tuple[int, str, int]:
        """What sorts it before those that it is the cause of; Kueue says that it has stopped a job once that is suspended."""
        return min(self.rank, _Rank.FAILURE), self.time, self.rank


_OF_EVENTS: Final = {
    (names.JOBSET, "Stopped"): (_Rank.QUEUE, _BY_KUEUE),
    (names.TRAIN_JOB, "Stopped"): (_Rank.QUEUE, _BY_KUEUE),
    ("Job", "Suspended"): (_Rank.OUTSIDE, BY_HAND),
    ("Job", names.DEADLINE_EXCEEDED): (_Rank.OUTSIDE, LATE),
    (names.TRAIN_JOB, names.EVENT_DEADLINE): (_Rank.OUTSIDE, LATE),
    ("Pod", "Preempted"): (_Rank.OUTSIDE, "pod {name} was preempted: {message}"),
    ("Pod", "TaintManagerEviction"): (_Rank.OUTSIDE, "pod {name} was evicted: {message}"),
    ("Pod", "Evicted"): (_Rank.OUTSIDE, "pod {name} was evicted: {message}"),
    ("Pod", "NodeNotReady"): (_Rank.OUTSIDE, "pod {name}: {message}"),
    ("Job", "BackoffLimitExceeded"): (_Rank.FAILURE, "Job {name} failed: {message}"),
    ("Job", "PodFailurePolicy"): (_Rank.FAILURE, "Job {name} failed: {message}"),
    ("Job", "SuccessfulDelete"): (_Rank.BY_JOB, BY_HAND),
    ("Pod", "Killing"): (_Rank.TOLD, "pod {name} was deleted or evicted"),
}
"""By kind and reason: of Kueue 0.19 (`jobframework`) and of Kubernetes 1.34."""
_BY_SIGNAL: Final = ("exit code 143", "exit code 137")


def with_causes(
    found: Attempts, known: Attempts, happened: Iterable[Happening], phase: str
) -> Attempts:
    """The attempts with what ended them; what was known of one before stays, unless more is known now."""
    happened = sorted(happened, key=lambda each: each.order)
    before = {(each.number, each.began): each.cause for each in known.last}
    ends = [*(each.began for each in found.last[1:]), _NEVER]
    last = []
    for each, end in zip(found.last, ends, strict=True):
        inside = (one for one in happened if each.began <= one.time < end)
        first, cause = next(inside, None), before.get((each.number, each.began), "")
        if first and (not cause or first.rank <= _Rank.OUTSIDE):
            cause = first.words
        if each is found.last[-1] and phase == COMPLETE:
            cause = FINISHED_WELL
        last.append(replace(each, cause=cause))
    return replace(found, last=tuple(last))


def unexplained(found: Attempts, phase: str, now: datetime) -> bool:
    """Whether one of them ended so lately that events may tell by what, and it is not known."""
    is_over = phase in FINISHED or any(each.how for each in found.last[-1:])
    ended = found.last if is_over else found.last[:-1]
    since = conditions.timestamp(now - EVENTS_LAST)
    return any(not each.cause and each.ended > since for each in ended)


def why(attempt: PastAttempt, found: Attempts, phase: str) -> str:
    """What ended an attempt, in words; of one that goes on that it does."""
    goes_on = attempt is found.last[-1] and phase not in FINISHED
    return "goes on" if goes_on and not attempt.cause and not attempt.how else attempt.why()


def of_pods(pods: Sequence[JSONObject], *, in_cluster: bool) -> Iterator[Happening]:
    """What pods that are there tell. On this machine only its supervisor ends a pod from outside."""
    for time, reason in failure_reason.failures(pods):
        rank = _Rank.FAILURE
        if reason.exit_code is None or reason.kind == FailureKind.OUT_OF_MEMORY:
            rank = _Rank.OUTSIDE
        elif reason.exit_code in failure_reason.FROM_OUTSIDE:
            rank = _Rank.CONSEQUENCE
        yield Happening(rank, time, replace(reason, message="").sentence())
    for pod in pods if in_cluster else ():
        if said := early_end.told(pod):
            yield Happening(_Rank.TOLD, conditions.timestamp(early_end.told_at(pod)), said)


def of_suspensions(
    known: Iterable[str], phase: str, around: Surroundings | None
) -> Iterator[Happening]:
    """What suspended it: a user's wish, at known times or now, or what Kueue says of its Workload."""
    for time in (*known, *([_LATE] if phase == SUSPENDED else ())):
        yield Happening(_Rank.OUTSIDE, time, BY_HAND)
    queueing = around.queueing if around else None
    said = ((queueing.workload or {}).get("status") or {}) if queueing else {}
    if evicted := conditions.true_condition(said.get("conditions") or (), "Evicted"):
        time, message = evicted.get("lastTransitionTime") or _LATE, evicted.get("message", "")
        yield Happening(_Rank.QUEUE, time, _BY_KUEUE.format(message=message))


def of_events(jobset: JSONObject | None, events: Sequence[JSONObject]) -> Iterator[Happening]:
    """What events tell of the JobSet, of the TrainJob of its name, of Jobs and of pods of it."""
    if jobset is None:
        return
    own = str(jobset["metadata"]["name"])
    below = tuple(f"{own}-{each['name']}-" for each in jobset["spec"]["replicatedJobs"])
    # A Job that is suspended again and again has one event for it, and one for each pod that it deletes then.
    suspended = {
        each["involvedObject"].get("name") for each in events if each.get("reason") == "Suspended"
    }
    for each in sorted(events, key=_version):
        about = each["involvedObject"]
        name, message = str(about.get("name", "")), str(each.get("message") or "")
        said = _OF_EVENTS.get((about.get("kind", ""), each.get("reason", "")))
        if said is None or not (name == own or name.startswith(below)):
            continue
        rank, words = said
        if rank == _Rank.TOLD and not early_end.stops_work(each):
            continue
        if rank == _Rank.BY_JOB and name not in suspended:
            continue
        if rank == _Rank.FAILURE and any(code in message for code in _BY_SIGNAL):
            rank = _Rank.CONSEQUENCE
        # One event stands for several of the same words: known of them are the first and the last.
        for time in {began_at(each)[:19], time_of(each)[:19]}:
            yield Happening(rank, f"{time}Z", words.format(name=name, message=message))


def _version(event: JSONObject) -> int:
    """What sorts events of one second as they were made."""
    version = str(event["metadata"].get("resourceVersion", ""))
    return int(version) if version.isdecimal() else 0
