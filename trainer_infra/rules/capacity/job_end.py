"""How a job ends: after how long, after how many restarts, and when it goes away."""

from collections.abc import Callable, Iterator
from typing import Final

from trainer_infra import names
from trainer_infra.api import failure_policy
from trainer_infra.api.shape import workloads
from trainer_infra.rules import pods
from trainer_infra.rules.placement import lookup
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
        found = pods.pods_of(context.subject) if context.subject.is_whole else ()
        own = [each.job_spec["activeDeadlineSeconds"] for each in found if each.trains]
        if own and all(each.is_there() for each in own):
            # Those of the runtime's Jobs end them as well.
            return
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
DEFAULT_BACKOFF: Final = 6
"""backoffLimit of a Job that has none (batch/v1)."""
_FREELY: Final = (failure_policy.RESTART_FREELY, failure_policy.GATED_ACTIONS[1])
_CONDITIONS: Final = {
    "onJobFailureReasons": frozenset(
        {"BackoffLimitExceeded", "FailedIndexes", "MaxFailedIndexesExceeded", "DeadlineExceeded"}
    ),
    "onJobFailureMessagePatterns": frozenset({"", ".", ".*", "^.*$", ".+", "^.+$"}),
}
"""What a failure rule is limited to, with what any program that fails or hangs makes true."""
_USUAL_CODES: Final = (1, 2, 134, 137, 139)
"""Exit codes of programs that fail, abort, run out of memory or crash."""
_BATCH_JOBS: Final = {
    **dict.fromkeys(("Job", "RayJob"), ("spec",)),
    "CronJob": ("spec", "jobTemplate", "spec"),
    **dict.fromkeys(workloads.V1_JOBS, ("spec", "runPolicy")),
}
"""By kind, what has a backoffLimit."""
_UNCOUNTED: Final = {
    "Restart": "restarts the container in its pod, and no backoffLimit counts that",
    "Always": "starts the program anew however it ends, so that the job never does",
}
"""Actions of a container's rules, and policies of pods, by which nothing ends the restarts."""
Part = tuple[Callable[[Value, int], Iterator[Finding]], Value]
"""One demand on how a job restarts, given the most restarts, and the place that it is on."""


class RestartsBounded(Parameters):
    """How often a job may start anew."""

    at_most: int = 10
    """The most restarts of the whole JobSet, and the most retries of one Job's pods."""


def _places_of_restarts(subject: Subject) -> Iterator[Part]:
    is_in_place = False
    for spec in pods.jobsets(subject):
        policy = spec["failurePolicy"]
        is_in_place = policy["restartStrategy"].raw == _IN_PLACE
        yield _count, policy["maxRestarts"]
        yield from ((_failure_rule, each) for each in policy["rules"].items())
        for job in spec["replicatedJobs"].items():
            yield from _of_job(job.at("template", "spec"), is_counted=not is_in_place)
    if subject.kind in _BATCH_JOBS:
        own = subject.object.at(*_BATCH_JOBS[subject.kind])
        # The default is not far from what is written elsewhere.
        is_written = any(own[each].raw is not ABSENT for each in (_BACKOFF, _PER_INDEX))
        yield from _of_job(own, is_counted=is_written)
        yield _count, own["maxRetry"]
    for container in () if is_in_place else pods.containers(subject):
        for each in container.value["restartPolicyRules"].items():
            yield _uncounted, each["action"]
    if subject.kind in workloads.V1_JOBS:
        yield from ((_uncounted, each.job["restartPolicy"]) for each in pods.pods_of(subject))


def _of_job(job: Value, *, is_counted: bool) -> Iterator[Part]:
    yield from ((_failure_rule, each) for each in job.at("podFailurePolicy", "rules").items())
    if is_counted:
        yield _count, job[_BACKOFF] if job[_PER_INDEX].raw is ABSENT else job[_PER_INDEX]


def _count(number: Value, most: int) -> Iterator[Finding]:
    is_default = number.path[-1] == _BACKOFF and not number.is_there()
    count = DEFAULT_BACKOFF if is_default else number.number()
    if count is not None and count > most:
        yield number.finding(f"allows more restarts than {most}", count, f"write {most} or less")


def _failure_rule(rule: Value, _most: int) -> Iterator[Finding]:
    """A failure that may come again and again is counted."""
    action, codes = rule["action"], rule["onExitCodes"]
    if action.text() in _FREELY:
        limits = ((rule[field], usual) for field, usual in _CONDITIONS.items())
        if all(_is_any(value, usual) for value, usual in limits):
            fix = f"write {failure_policy.RESTART}, or say which failures it is about"
            what = "counts no failure of a program, so that nothing ends the restarts"
            yield action.finding(what, action.text(), fix)
    elif action.text() == "Ignore" and codes.is_there():
        is_other = codes["operator"].text() == failure_policy.NOT_IN
        if is_other or any(each.number() in _USUAL_CODES for each in lookup.items(codes["values"])):
            what = "ignores a program that fails, so that its pod is replaced without an end"
            fix = "write Count, or ignore the condition DisruptionTarget alone"
            yield action.finding(what, action.text(), fix)


def _is_any(values: Value, usual: frozenset[str]) -> bool:
    found = {each.text() for each in lookup.items(values)}
    return not found or not usual.isdisjoint(found)


def _uncounted(value: Value, _most: int) -> Iterator[Finding]:
    if value.text() in _UNCOUNTED:
        fix = "remove it, and let the job count its failures"
        yield value.finding(_UNCOUNTED[value.text()], value.text(), fix)


RESTARTS_BOUNDED: Final = Rule(
    id="restarts-bounded",
    title="Restarts of a failing job must be limited",
    severity=Severity.MEDIUM,
    kinds=names.WITH_PODS | {*_BATCH_JOBS},
    tags=("capacity", "restarts", "cost"),
    why="A program that fails at once is restarted for days, on GPUs that others wait for.",
    fix="Limit `maxRestarts` and `backoffLimit`, and let only known failures restart without being counted.",
    places=_places_of_restarts,
    check=lambda place, context: place[0](place[1], context.parameters.at_most),
    parameters=RestartsBounded,
)
