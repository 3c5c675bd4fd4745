"""deadline: a TrainJob ends after some time, whatever happens."""

from collections.abc import Iterator
from typing import Final

from trainer_infra import names
from trainer_infra.rules import rule
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Value


class Deadline(Parameters):
    """How long a TrainJob may take."""

    at_most_seconds: int | None = None
    """The longest deadline that is allowed; None for any."""


def _check(place: Value, context: Context[Deadline]) -> Iterator[Finding]:
    deadline, most = place.at("spec", "activeDeadlineSeconds"), context.parameters.at_most_seconds
    seconds = deadline.number()
    if not deadline.is_there():
        fix = "write after how many seconds the job is to be ended"
        yield deadline.finding("is not set", None, fix)
    elif most is not None and seconds is not None and seconds > most:
        what = f"is more than the {most} seconds that are allowed"
        yield deadline.finding(what, seconds, f"write {most} or less")


RULE: Final = Rule(
    id="deadline",
    title="A TrainJob has a deadline",
    severity=Severity.LOW,
    kinds=frozenset((names.TRAIN_JOB,)),
    tags=("capacity", "cost"),
    why="A job that hangs holds its GPUs until a person notices.",
    fix="Write `spec.activeDeadlineSeconds`: it counts from the start or the last resume.",
    places=rule.whole,
    check=_check,
    parameters=Deadline,
)
