"""priority-class: priority classes that a job or its pods name exist.

Kueue's label names a WorkloadPriorityClass: without it Kueue makes no Workload. A pod's
priorityClassName names a PriorityClass, two of which every cluster has: without it no pod is made.
Something is said to be nowhere only as `lookup` says.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from trainer_infra import names
from trainer_infra.rules import pods
from trainer_infra.rules.placement import lookup
from trainer_infra.rules.pod_templates import WORKLOADS
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject, Value

_OF_EVERY_CLUSTER: Final = ("system-cluster-critical", "system-node-critical")


@dataclass(frozen=True, slots=True)
class PriorityClassName:
    """Where a priority class is named."""

    value: Value
    """Its name."""
    kind: str
    """What it is a class of."""


def _places(subject: Subject) -> Iterator[PriorityClassName]:
    label = subject.object.at("metadata", "labels", names.KUEUE_PRIORITY_LABEL)
    yield PriorityClassName(label, names.WORKLOAD_PRIORITY_CLASS)
    for pod in pods.pods_of(subject):
        yield PriorityClassName(pod.spec["priorityClassName"], names.PRIORITY_CLASS)


def _check(place: PriorityClassName, context: Context[Parameters]) -> Iterator[Finding]:
    name = place.value.text()
    if not name or (place.kind == names.PRIORITY_CLASS and name in _OF_EVERY_CLUSTER):
        return
    fix = lookup.fix_of_missing(context.world, place.kind, name)
    if fix is not None:
        yield place.value.finding(f"names a {place.kind} that does not exist", name, fix)


RULE: Final = Rule(
    id="priority-class",
    title="Priority classes that are named exist",
    severity=Severity.HIGH,
    kinds=WORKLOADS,
    tags=("scheduling", "kueue"),
    why="Without the class Kueue does not admit the job, or Kubernetes makes none of its pods.",
    fix="Correct the name, or add the class.",
    places=_places,
    check=_check,
    looks_around=True,
)
