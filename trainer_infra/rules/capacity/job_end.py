"""How a job ends: after how long, after how many restarts, and when it goes away."""

from collections.abc import Iterator
from typing import Final

from trainer_infra import names
from trainer_infra.api import failure_policy
from trainer_infra.rules import pods
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject, Value
from trainer_infra.rules.value import ABSENT

ADD_DEADLINE: Final = "write after how many seconds the job is to be ended"


class Deadline(Parameters):
    """How long a TrainJob may take."""

    at_most_seconds: int | None = None
    """The longest deadline that is allowed; None for any."""


def _check_deadline(place: Value, context: Context[Deadline]) -> Iterator[Finding]:
    deadline, most = place.at("spec", "activeDeadlineSeconds"), context.parameters.at_most_seconds
    seconds = deadline.number()
    if not deadline.is_there():
        yield deadline.finding("is not set", None, ADD_DEADLINE)
    elif most is not None and seconds is not None and seconds > most:
        what = f"is more than the {most} seconds that are allowed"
        yield deadline.finding(what, seconds, f"write {most} or less")


DEADLINE: Final = Rule(
    id="deadline",
    title="A TrainJob must have a deadline",
    severity=Severity.LOW,
    kinds=frozenset((names.TRAIN_JOB,)),
    tags=("capacity", "cost"),
    why="A job that hangs holds its GPUs until a person notices.",
    fix="Set `spec.activeDeadlineSeconds`: it counts from the start or the last resume.",
    check=_check_deadline,
    parameters=Deadline,
)


_TTL: Final = "ttlSecondsAfterFinished"


class Ttl(Parameters):
    """How long a job that has ended may stay."""

    at_most_seconds: int | None = None
    """The longest time that is allowed; None for any."""


def _check_ttl(place: Value, context: Context[Ttl]) -> Iterator[Finding]:
    found = tuple(_ttls(context.subject))
    if not found:
        is_job = context.subject.kind == names.TRAIN_JOB
        where = _annotation(place) if is_job else place.at("spec", _TTL)
        fix = "write how many seconds the job stays once it ended"
        yield where.finding("is not set", None, fix)
    most = context.parameters.at_most_seconds
    for each in found[:1]:
        seconds = each.quantity()
        if most is not None and seconds is not None and seconds > most:
            what = f"is more than the {most} seconds that are allowed"
            yield each.finding(what, each.raw, f"write {most} or less")


def _ttls(subject: Subject) -> Iterator[Value]:
    """Where it is set; the first counts."""
    holders = (subject.object, subject.runtime) if subject.kind == names.TRAIN_JOB else ()
    for each in holders:
        if each is not None and _annotation(each).is_there():
            yield _annotation(each)
    for spec in pods.jobsets(subject):
        if spec[_TTL].is_there():
            yield spec[_TTL]


def _annotation(holder: Value) -> Value:
    return holder.at("metadata", "annotations", names.TTL_SECONDS)


def _places_of_ttl(subject: Subject) -> Iterator[Value]:
    """The object, where all that may set it is known."""
    if subject.kind != names.TRAIN_JOB or subject.rendered:
        yield subject.object


TTL: Final = Rule(
    id="ttl",
    title="Ended jobs must be deleted automatically",
    severity=Severity.LOW,
    kinds=frozenset((names.TRAIN_JOB, names.JOBSET)),
    tags=("capacity", "clean-up"),
    why=(
        "Ended jobs pile up in the cluster, with their pods, volumes and Secrets, until the API "
        "server is slow and names are taken."
    ),
    fix=(
        "Annotate the TrainJob or its runtime with `trainer-infra.dev/ttl-seconds-after-finished`, "
        "or set `ttlSecondsAfterFinished` in the runtime's JobSet."
    ),
    places=_places_of_ttl,
    check=_check_ttl,
    parameters=Ttl,
)


_BACKOFF: Final = "backoffLimit"
_PER_INDEX: Final = "backoffLimitPerIndex"
_IN_PLACE: Final = "InPlaceRestart"
"""Where pods restart in place JobSet counts all restarts itself, and demands the largest backoffLimit."""
_DEFAULT: Final = 6
"""backoffLimit of a Job that has none (batch/v1)."""
_CONDITIONS: Final = ("onJobFailureReasons", "onJobFailureMessagePatterns")


class RestartsBounded(Parameters):
    """How often a job may start anew."""

    at_most: int = 10
    """The most restarts of the whole JobSet, and the most retries of one Job's pods."""


def _check_restarts(place: Value, context: Context[RestartsBounded]) -> Iterator[Finding]:
    most = context.parameters.at_most
    last = place.path[-1]
    if last == "rules":
        # Rules by which any failure restarts a job and is not counted.
        for each in place.items():
            is_free = each["action"].text() == failure_policy.RESTART_FREELY
            conditions = [each[name] for name in _CONDITIONS]
            if is_free and not any(one.is_there() and [*one.items()] for one in conditions):
                fix = f"write {failure_policy.RESTART}, or say which failures it is about"
                what = "counts no failure at all, so that nothing ends the restarts"
                yield each["action"].finding(what, failure_policy.RESTART_FREELY, fix)
        return
    number = place.number()
    if number is None and last == _BACKOFF and not place.is_there():
        number = _DEFAULT
    if number is not None and number > most:
        yield place.finding(f"allows more restarts than {most}", number, f"write {most} or less")


def _places_of_restarts(subject: Subject) -> Iterator[Value]:
    for spec in pods.jobsets(subject):
        yield spec.at("failurePolicy", "maxRestarts")
        yield spec.at("failurePolicy", "rules")
        if spec.at("failurePolicy", "restartStrategy").raw == _IN_PLACE:
            continue
        for job in spec["replicatedJobs"].items():
            own = job.at("template", "spec")
            yield own[_BACKOFF] if own[_PER_INDEX].raw is ABSENT else own[_PER_INDEX]


RESTARTS_BOUNDED: Final = Rule(
    id="restarts-bounded",
    title="Restarts of a failing job must be limited",
    severity=Severity.MEDIUM,
    kinds=names.WITH_PODS,
    tags=("capacity", "restarts", "cost"),
    why="A program that fails at once is restarted for days, on GPUs that others wait for.",
    fix="Limit `maxRestarts` and `backoffLimit`, and let only known failures restart without being counted.",
    places=_places_of_restarts,
    check=_check_restarts,
    parameters=RestartsBounded,
)
