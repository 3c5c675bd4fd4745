"""ttl: a job that has ended goes away by itself."""

from collections.abc import Iterator
from typing import Final

from trainer_infra import names
from trainer_infra.rules import pods
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject, Value

_FIELD: Final = "ttlSecondsAfterFinished"


class Ttl(Parameters):
    """How long a job that has ended may stay."""

    at_most_seconds: int | None = None
    """The longest time that is allowed; None for any."""


def _check(place: Value, context: Context[Ttl]) -> Iterator[Finding]:
    found = tuple(_set(context.subject))
    if not found:
        yield _missing(place, context.subject)
    most = context.parameters.at_most_seconds
    for each in found[:1]:
        seconds = each.quantity()
        if most is not None and seconds is not None and seconds > most:
            what = f"is more than the {most} seconds that are allowed"
            yield each.finding(what, each.raw, f"write {most} or less")


def _set(subject: Subject) -> Iterator[Value]:
    """Where it is set; the first counts."""
    holders = (subject.object, subject.runtime) if subject.kind == names.TRAIN_JOB else ()
    for each in holders:
        if each is not None and _annotation(each).is_there():
            yield _annotation(each)
    for spec in pods.jobsets(subject):
        if spec[_FIELD].is_there():
            yield spec[_FIELD]


def _missing(place: Value, subject: Subject) -> Finding:
    where = _annotation(place) if subject.kind == names.TRAIN_JOB else place.at("spec", _FIELD)
    return where.finding("is not set", None, "write how many seconds the job stays once it ended")


def _annotation(holder: Value) -> Value:
    return holder.at("metadata", "annotations", names.TTL_SECONDS)


def _known(subject: Subject) -> Iterator[Value]:
    """The object, where all that may set it is known."""
    if subject.kind != names.TRAIN_JOB or subject.rendered:
        yield subject.object


RULE: Final = Rule(
    id="ttl",
    title="A job that has ended goes away by itself",
    severity=Severity.LOW,
    kinds=frozenset((names.TRAIN_JOB, names.JOBSET)),
    tags=("capacity", "clean-up"),
    why=(
        "Ended jobs pile up in the cluster, with their pods, volumes and Secrets, until the API "
        "server is slow and names are taken."
    ),
    fix=(
        f"Annotate the TrainJob or its runtime with `{names.TTL_SECONDS}`, or write "
        f"`{_FIELD}` in the runtime's JobSet."
    ),
    places=_known,
    check=_check,
    parameters=Ttl,
)
