"""job-replicas: a replicated job that is a step of a TrainJob has one replica."""

from collections.abc import Iterator
from typing import Final

from trainer_infra import names
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject, Value
from trainer_infra.rules.shape import jobs


def _places(subject: Subject) -> Iterator[Value]:
    return subject.object.at(*jobs.IN_RUNTIME).items()


def _check(job: Value, _context: Context[Parameters]) -> Iterator[Finding]:
    replicas = job["replicas"]
    if jobs.step_label(job).text() in jobs.CONTAINERS and replicas.number() not in {None, 1}:
        fix = "write 1: nodes are counted by mlPolicy.numNodes and spec.trainer.numNodes"
        what = f"must be 1 for a job with the label {names.ANCESTOR_LABEL}"
        yield replicas.finding(what, replicas.number(), fix, replicas.set_to(1))


RULE: Final = Rule(
    id="job-replicas",
    title="Jobs that are steps of a TrainJob have one replica",
    severity=Severity.HIGH,
    kinds=names.RUNTIMES,
    tags=("shape",),
    why="The admission of the trainer refuses the runtime, and TrainJobs cannot use it.",
    fix="Write `replicas: 1` or nothing; mlPolicy.numNodes says how many nodes there are.",
    places=_places,
    check=_check,
    remediates=True,
)
