"""queue-chain: queues, flavors, checks and topologies that are named exist, and let jobs in.

Something is said to be nowhere only as `lookup` says. Cohorts need no object of their own: they
must only not be above themselves.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

from trainer_infra import names
from trainer_infra.rules.finding import Finding, Severity
from trainer_infra.rules.placement import lookup, queue_objects
from trainer_infra.rules.rule import Context, Parameters, Rule
from trainer_infra.rules.scheduling import volcano
from trainer_infra.rules.subject import Subject
from trainer_infra.rules.value import Value
from trainer_infra.rules.world import NOWHERE, World


@dataclass(frozen=True, slots=True)
class Reference:
    """A place that names another object."""

    value: Value
    """The name."""
    kind: str
    """What it is the name of."""


_NAMED: Final = {
    names.LOCAL_QUEUE: ("clusterQueue", names.CLUSTER_QUEUE),
    names.RESOURCE_FLAVOR: ("topologyName", names.KUEUE_TOPOLOGY),
}
"""The field of a spec that names one other object, and the kind of that."""
Place: TypeAlias = Reference | Subject
"""A reference, or the object as a whole."""


def _places(subject: Subject) -> Iterator[Place]:
    yield subject
    spec = subject.object["spec"]
    if subject.kind in _NAMED:
        field, kind = _NAMED[subject.kind]
        yield Reference(spec[field], kind)
    if subject.kind in (names.CLUSTER_QUEUE, names.COHORT):
        for group in spec["resourceGroups"].items():
            for each in group["flavors"].items():
                yield Reference(each["name"], names.RESOURCE_FLAVOR)
    if subject.kind == names.CLUSTER_QUEUE:
        strategy = spec.at("admissionChecksStrategy", "admissionChecks")
        old = spec["admissionChecks"].items()
        for name in (*old, *(each["name"] for each in strategy.items())):
            yield Reference(name, names.ADMISSION_CHECK)


def _check(place: Place, context: Context[Parameters]) -> Iterator[Finding]:
    if isinstance(place, Reference):
        yield from _of_reference(place.value, place.kind, NOWHERE, context)
    elif place.kind in (names.TRAIN_JOB, names.JOBSET):
        name = queue_objects.queue_name(place)
        if name is not None:
            yield from _of_reference(name, names.LOCAL_QUEUE, place.namespace, context)
        other = volcano.queue_name(place)
        if other is not None and other.text() not in volcano.BUILT_IN:
            yield from _of_reference(other, names.VOLCANO_QUEUE, NOWHERE, context)
    elif place.kind == names.CLUSTER_QUEUE:
        yield from _of_namespaces(place.object.at("spec", "namespaceSelector"))
    elif place.kind == names.COHORT and _goes_round(place, context.world):
        what = "makes cohorts go round in a circle, which stops all their queues"
        above = queue_objects.cohort(place)
        yield above.finding(what, above.text(), "name a cohort that is not below this one")


def _goes_round(cohort: Subject, world: World) -> bool:
    """Whether the cohorts above one go round in a circle."""
    seen = {cohort.name}
    here: Subject | None = cohort
    while here is not None and (name := queue_objects.cohort(here).text()):
        if name in seen:
            return True
        seen.add(name)
        here = lookup.find_object(world, names.COHORT, name)
    return False


def _of_reference(
    value: Value, kind: str, namespace: str, context: Context[Parameters]
) -> Iterator[Finding]:
    name = value.text()
    fix = lookup.fix_of_missing(context.world, kind, name, namespace) if name else None
    if fix is not None:
        where = f" in namespace {namespace}" if namespace else ""
        yield value.finding(f"names {_article(kind)} {kind} that does not exist{where}", name, fix)


def _article(noun: str) -> str:
    return "an" if noun.startswith("A") else "a"


def _of_namespaces(selector: Value) -> Iterator[Finding]:
    if not selector.is_there():
        what = "is missing, which lets the jobs of no namespace in"
        yield selector.finding(what, fix="write {} for all namespaces, or select some by label")


RULE: Final = Rule(
    id="queue-chain",
    title="Queues, and what they are made of, exist",
    severity=Severity.HIGH,
    kinds=frozenset(
        (
            names.TRAIN_JOB,
            names.JOBSET,
            names.LOCAL_QUEUE,
            names.CLUSTER_QUEUE,
            names.RESOURCE_FLAVOR,
            names.COHORT,
        )
    ),
    tags=("scheduling", "kueue", "volcano"),
    why=(
        "A job stays suspended, without a word in its own status, as long as anything between it "
        "and the quota is missing."
    ),
    fix="Correct the name, or add the object.",
    places=_places,
    check=_check,
    looks_around=True,
)
