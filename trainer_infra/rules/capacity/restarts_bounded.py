"""restarts-bounded: a job that fails again and again is given up after some restarts."""

from collections.abc import Iterator
from typing import Final

from trainer_infra import names
from trainer_infra.api import failure_policy
from trainer_infra.rules import pods
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject, Value
from trainer_infra.rules.value import ABSENT

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


def _check(place: Value, context: Context[RestartsBounded]) -> Iterator[Finding]:
    most = context.parameters.at_most
    last = place.path[-1]
    if last == "rules":
        # Rules by which any failure restarts a job and is not counted.
        for each in place.items():
            is_free = each["action"].text() == failure_policy.RESTART_FREELY
            if is_free and not any(_has(each[name]) for name in _CONDITIONS):
                fix = f"write {failure_policy.RESTART}, or say which failures it is about"
                what = "counts no failure at all, so that nothing ends the restarts"
                yield each["action"].finding(what, failure_policy.RESTART_FREELY, fix)
        return
    number = place.number()
    if number is None and last == _BACKOFF and not place.is_there():
        number = _DEFAULT
    if number is not None and number > most:
        yield place.finding(f"allows more restarts than {most}", number, f"write {most} or less")


def _has(conditions: Value) -> bool:
    return conditions.is_there() and any(True for _ in conditions.items())


def _places(subject: Subject) -> Iterator[Value]:
    for spec in pods.jobsets(subject):
        yield spec.at("failurePolicy", "maxRestarts")
        yield spec.at("failurePolicy", "rules")
        if spec.at("failurePolicy", "restartStrategy").raw == _IN_PLACE:
            continue
        for job in spec["replicatedJobs"].items():
            own = job.at("template", "spec")
            yield own[_BACKOFF] if own[_PER_INDEX].raw is ABSENT else own[_PER_INDEX]


RULE: Final = Rule(
    id="restarts-bounded",
    title="A job that fails again and again is given up",
    severity=Severity.MEDIUM,
    kinds=names.WITH_PODS,
    tags=("capacity", "restarts", "cost"),
    why="A program that fails at once is started again for days, on GPUs that others wait for.",
    fix="Bound `maxRestarts` and `backoffLimit`, and let only known failures restart for free.",
    places=_places,
    check=_check,
    parameters=RestartsBounded,
)
