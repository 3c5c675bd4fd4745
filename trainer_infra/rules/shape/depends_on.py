"""depends-on: replicated jobs wait for earlier ones only.

JobSet v0.12's webhook (reference behaviour 12.3). That a status is Ready or Complete
is in the schemas, and `schema` says it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from trainer_infra import names
from trainer_infra.rules import pods
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject, Value


@dataclass(frozen=True, slots=True)
class WaitingJob:
    """What a replicated job waits for."""

    found: Value
    """Its dependsOn; one item of it where there are jobs before."""
    before: tuple[Value, ...]
    """Names of the jobs before it."""


def _places(subject: Subject) -> Iterator[WaitingJob]:
    for spec in pods.jobsets(subject):
        before: tuple[Value, ...] = ()
        for job in spec["replicatedJobs"].items():
            if before:
                yield from (WaitingJob(each, before) for each in job["dependsOn"].items())
            else:
                yield WaitingJob(job["dependsOn"], before)
            before = (*before, job["name"])


def _check(place: WaitingJob, _context: Context[Parameters]) -> Iterator[Finding]:
    if not place.before:
        if any(True for _ in place.found.items()):
            what = "stands in the first job, before which there is none to wait for"
            yield place.found.finding(what, None, "remove it, or move the job behind the others")
        return
    name = place.found["name"]
    if any(each.raw == name.text() for each in place.before):
        return
    earlier = tuple(each.text() for each in place.before)
    if name.text():
        what = "is not the name of an earlier job"
        fix = f"name {' or '.join(earlier)}, or list that job before this one"
        yield name.finding(what, name.text(), fix)


RULE: Final = Rule(
    id="depends-on",
    title="Replicated jobs wait for earlier ones only",
    severity=Severity.HIGH,
    kinds=names.WITH_PODS,
    tags=("shape", "order"),
    why=(
        "JobSet refuses the JobSet; a TrainJob was admitted before that and waits for ever, with "
        "an event as the only sign."
    ),
    fix="List jobs in the order in which they start, and name earlier ones in `dependsOn`.",
    places=_places,
    check=_check,
)
