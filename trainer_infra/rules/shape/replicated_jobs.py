"""Replicated jobs of a JobSet: which wait for which, which is the coordinator, and when a pod of one ends."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from trainer_infra import names
from trainer_infra.render import metadata_name, resolve
from trainer_infra.rules import pods
from trainer_infra.rules.placement import lookup
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject, Value
from trainer_infra.rules.shape import jobs


@dataclass(frozen=True, slots=True)
class WaitingJob:
    """What a replicated job waits for, and the names of the jobs before it."""

    found: Value
    """Its dependsOn; one item of it where there are jobs before."""
    before: tuple[Value, ...]


def _places_of_order(subject: Subject) -> Iterator[WaitingJob]:
    for spec in pods.jobsets(subject):
        before: tuple[Value, ...] = ()
        for job in spec["replicatedJobs"].items():
            if before:
                yield from (WaitingJob(each, before) for each in job["dependsOn"].items())
            else:
                yield WaitingJob(job["dependsOn"], before)
            before = (*before, job["name"])


def _check_order(place: WaitingJob, _context: Context[Parameters]) -> Iterator[Finding]:
    if not place.before:
        if tuple(place.found.items()):
            what = "is in the first job, which has no earlier job to wait for"
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


DEPENDS_ON: Final = Rule(
    id="depends-on",
    title="A replicated job may only depend on jobs listed before it",
    severity=Severity.HIGH,
    kinds=names.WITH_PODS,
    tags=("shape", "order"),
    why=jobs.REFUSED_BY_JOBSET,
    fix="List the jobs in the order in which they start, and name earlier ones in `dependsOn`.",
    places=_places_of_order,
    check=_check_order,
)
"""JobSet v0.12's webhook (reference behaviour 12.3). That a status is Ready or Complete
is in the schemas, and `schema` says it.
"""


_INDEXED: Final = ("", "Indexed")
"""JobSet's webhook writes the second where nothing is."""


def _check_coordinator(jobset: Value, context: Context[Parameters]) -> Iterator[Finding]:
    coordinator = jobset["coordinator"]
    name = coordinator["replicatedJob"]
    if not name.text():
        return
    job = lookup.item_named(jobset["replicatedJobs"], name.text())
    if job is None:
        fix = jobs.name_one(jobset["replicatedJobs"])
        yield name.finding("is the name of no job", name.text(), fix)
        return
    replicas = job["replicas"].number() if job["replicas"].is_there() else 1
    if replicas is not None:
        yield from _in(coordinator["jobIndex"], replicas, "Jobs")
    if context.subject.kind not in names.RUNTIMES:
        yield from _is_pod(coordinator, job.at("template", "spec"))
        yield from _fits(jobset, context.subject)


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
        yield index.finding(f"is not an index of the {count} {noun} of that job", at)


def _fits(jobset: Value, subject: Subject) -> Iterator[Finding]:
    """JobSet writes the pod's address into a label."""
    own, coordinator = subject.name, jobset["coordinator"]
    subdomain = jobset.at("network", "subdomain").text() or own
    at = [coordinator[each].number() or 0 for each in ("jobIndex", "podIndex")]
    job = coordinator["replicatedJob"]
    address = f"{own}-{job.text()}-{at[0]}-{at[1]}.{subdomain}"
    if own and len(subdomain) <= metadata_name.LIMIT < len(address):
        over = len(address) - metadata_name.LIMIT
        length = f"an address of {len(address)} characters"
        what = f"makes {length}, and a label has {metadata_name.LIMIT}"
        yield job.finding(what, address, f"shorten the names of it by {over}")


COORDINATOR: Final = Rule(
    id="coordinator",
    title="A JobSet's coordinator must be one of its pods",
    severity=Severity.HIGH,
    kinds=names.WITH_PODS,
    tags=("shape",),
    why=jobs.REFUSED_BY_JOBSET,
    fix="Name an existing replicated job, and job and pod indexes within it; they start at 0.",
    places=pods.jobsets,
    check=_check_coordinator,
)
"""JobSet v0.12's webhook: the job, the index of the Job and that of the pod. How many pods a runtime's
job has only its TrainJobs say, so of a runtime the pod is not judged.
"""


_FIX: Final = "make it an init container with restartPolicy: Always, which ends with the pod"


def _check_side_containers(jobset: Value, _context: Context[Parameters]) -> Iterator[Finding]:
    listed = jobset.at("successPolicy", "targetReplicatedJobs")
    if listed.is_noted():
        return
    targets = [each.text() for each in listed.items()]
    awaited = {*targets, *jobs.needed(jobset)} if targets else None
    for job in jobset["replicatedJobs"].items():
        name = job["name"].text()
        if awaited is None or name in awaited:
            yield from _of_pod(name, jobs.pod_spec(job))


def _of_pod(step: str, spec: Value) -> Iterator[Finding]:
    listed = [*spec["containers"].items()]
    main = resolve.main_container(step, [each["name"].text() for each in listed])
    for each in listed:
        if each["name"].text() != main:
            what = f"keeps the pod when {main!r} has ended, until it ends too"
            yield each.finding(what, None, _FIX)


SIDE_CONTAINERS: Final = Rule(
    id="side-containers",
    title="Containers that run beside training must end with it",
    severity=Severity.MEDIUM,
    kinds=names.RUNTIMES | {names.TRAIN_JOB, names.JOBSET},
    tags=("shape", "containers"),
    why=(
        "A pod ends when all its containers have ended. A metrics server or proxy next to the "
        "training container never ends: the run stays Running and keeps its GPUs."
    ),
    fix=(
        "Move the container to `initContainers` and set its `restartPolicy: Always` (Kubernetes "
        "1.29): it then starts first and ends with the pod. If it ends by itself, exempt it."
    ),
    places=pods.jobsets,
    check=_check_side_containers,
)
"""A pod ends when all its containers have, and a Job when its pods have (Kubernetes, "Pod lifecycle").
A sidecar is an init container whose restartPolicy is Always (KEP-753, on by default since Kubernetes
1.29): the kubelet ends it when the others have ended. Jobs that need not end for the JobSet to
complete may have what they like.
"""
