"""coordinator: a JobSet's coordinator is a pod that there is.

JobSet v0.12's webhook: the job, the index of the Job and that of the pod. How many pods a runtime's
job has only its TrainJobs say, so of a runtime the pod is not judged.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from trainer_infra import names
from trainer_infra.render import metadata_name
from trainer_infra.rules import pods
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject, Value
from trainer_infra.rules.shape import jobs

_INDEXED: Final = ("", "Indexed")
"""JobSet's webhook writes the second where nothing is."""


@dataclass(frozen=True, slots=True)
class Coordinator:
    """The coordinator of a JobSet."""

    value: Value
    """What the spec says of it."""
    spec: Value
    """The spec of the JobSet."""


def _places(subject: Subject) -> Iterator[Coordinator]:
    for spec in pods.jobsets(subject):
        yield Coordinator(spec["coordinator"], spec)


def _check(place: Coordinator, context: Context[Parameters]) -> Iterator[Finding]:
    name = place.value["replicatedJob"]
    if not name.text():
        return
    job = jobs.item_named(place.spec["replicatedJobs"], name.text())
    if job is None:
        fix = jobs.name_one(place.spec["replicatedJobs"])
        yield name.finding("is the name of no job", name.text(), fix)
        return
    replicas = job["replicas"].number() if job["replicas"].is_there() else 1
    if replicas is not None:
        yield from _in(place.value["jobIndex"], replicas, "Jobs")
    if context.subject.kind not in names.RUNTIMES:
        yield from _is_pod(place.value, job.at("template", "spec"))
        yield from _fits(place, context.subject)


def _is_pod(coordinator: Value, job: Value) -> Iterator[Finding]:
    if not job.is_there():
        return
    completions = job["completions"].number()
    if job["completionMode"].text() not in _INDEXED:
        what = "is not Indexed, as the job of the coordinator must be"
        yield job["completionMode"].finding(what, job["completionMode"].text())
    elif completions is None:
        what = "is not set, as that of the coordinator's job must be"
        yield job["completions"].finding(what, fix="write how many pods the job has")
    else:
        yield from _in(coordinator["podIndex"], completions, "pods")


def _in(index: Value, count: int, noun: str) -> Iterator[Finding]:
    at = index.number() or 0
    if not 0 <= at < count:
        yield index.finding(f"is no index of the {count} {noun} of that job", at)


def _fits(place: Coordinator, subject: Subject) -> Iterator[Finding]:
    """JobSet writes the pod's address into a label."""
    own = subject.name
    subdomain = place.spec.at("network", "subdomain").text() or own
    at = [place.value[each].number() or 0 for each in ("jobIndex", "podIndex")]
    job = place.value["replicatedJob"]
    address = f"{own}-{job.text()}-{at[0]}-{at[1]}.{subdomain}"
    if own and len(subdomain) <= metadata_name.LIMIT < len(address):
        over = len(address) - metadata_name.LIMIT
        what = (
            f"makes an address of {len(address)} characters, and a label has {metadata_name.LIMIT}"
        )
        yield job.finding(what, address, f"shorten the names of it by {over}")


RULE: Final = Rule(
    id="coordinator",
    title="The coordinator of a JobSet is a pod that there is",
    severity=Severity.HIGH,
    kinds=names.WITH_PODS,
    tags=("shape",),
    why=(
        "JobSet refuses the JobSet; a TrainJob was admitted before that and waits for ever, with "
        "an event as the only sign."
    ),
    fix="Name a replicated job, and indexes of its Jobs and pods, which count from 0.",
    places=_places,
    check=_check,
)
