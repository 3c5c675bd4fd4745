"""side-containers: what runs beside the container that does the work ends when that does.

A pod ends when all its containers have, and a Job when its pods have (Kubernetes, "Pod lifecycle").
A sidecar is an init container whose restartPolicy is Always (KEP-753, on by default since Kubernetes
1.29): the kubelet ends it when the others have ended. Jobs that need not end for the JobSet to
complete may have what they like.
"""

from collections.abc import Iterator
from typing import Final

from trainer_infra import names
from trainer_infra.render import resolve
from trainer_infra.rules import pods
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Value

_FIX: Final = "make it an init container with restartPolicy: Always, which ends with the pod"


def _check(jobset: Value, _context: Context[Parameters]) -> Iterator[Finding]:
    listed = jobset.at("successPolicy", "targetReplicatedJobs")
    if listed.is_noted():
        return
    targets = [each.text() for each in listed.items()]
    awaited = {*targets, *_needed(jobset)} if targets else None
    for job in jobset["replicatedJobs"].items():
        name = job["name"].text()
        if awaited is None or name in awaited:
            yield from _of_pod(name, job.at("template", "spec", "template", "spec"))


def _needed(jobset: Value) -> Iterator[str]:
    """Names of the jobs for whose end another one waits."""
    for job in jobset["replicatedJobs"].items():
        for each in job["dependsOn"].items():
            if each["status"].text() == names.COMPLETE:
                yield each["name"].text()


def _of_pod(step: str, spec: Value) -> Iterator[Finding]:
    listed = [*spec["containers"].items()]
    main = resolve.main_container(step, [each["name"].text() for each in listed])
    for each in listed:
        if each["name"].text() != main:
            yield each.finding(
                f"keeps the pod when {main!r} has ended, until it ends too", None, _FIX
            )


RULE: Final = Rule(
    id="side-containers",
    title="What runs beside training ends with it",
    severity=Severity.MEDIUM,
    kinds=names.RUNTIMES | {names.TRAIN_JOB, names.JOBSET},
    tags=("shape", "containers"),
    why=(
        "A pod ends when all its containers have ended. A server of metrics or a proxy beside the "
        "container that trains never does: the run stays Running, and keeps its GPUs."
    ),
    fix=(
        "Move the container to `initContainers` and set its `restartPolicy: Always` (Kubernetes 1.29): "
        "it then starts first and ends with the pod. One that ends by itself may stay: exempt it."
    ),
    places=pods.jobsets,
    check=_check,
)
