"""Which machines pods may run on, and how many of them.

Pools declare the labels and resources that matter to their owner, not all that machines have: a
label or resource that no pool declares excludes none. So what finds no place here finds none there.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Final

from trainer_infra.rules.pods import Pod
from trainer_infra.rules.pool import Pool, Taint
from trainer_infra.rules.scheduling import lookup
from trainer_infra.rules.value import Value

_HARD: Final = ("NoSchedule", "NoExecute")
_GKE: Final = "cloud.google.com/gke-"


def amount(pool: Pool, resource: str) -> int:
    """What one machine of a pool has, in billionths."""
    return max(0, int(pool.amount(resource) * Decimal(10**9)))


def selected(pod: Pod, among: Sequence[Pool]) -> tuple[Pool, ...]:
    """The pools whose labels the pod asks for.

    Raises:
        Unseen: What it asks for is not known.
    """
    known = {label for pool in among for label in pool.labels}
    return tuple(each for each in among if matches(pod.spec, each.labels, known))


def per_machine(pool: Pool, asked: Mapping[str, int], among: Sequence[Pool]) -> int | None:
    """How many such pods one machine takes; None where nothing that is declared limits it."""
    declared = {resource for each in among for resource in each.capacity}
    rooms = [amount(pool, name) // each for name, each in asked.items() if name in declared]
    return min(rooms, default=None)


def untolerated(taints: Iterable[Taint], tolerations: Sequence[Value]) -> Taint | None:
    """The first taint that keeps a pod away."""
    hard = (each for each in taints if each.effect in _HARD)
    return next((each for each in hard if not _is_tolerated(each, tolerations)), None)


def keeps_away(pool: Pool, asked: Collection[str], tolerations: Sequence[Value]) -> Taint | None:
    """The taint of a pool that keeps a pod away.

    GKE adds tolerations for the extended resources that a pod asks for (the admission plugin
    ExtendedResourceToleration); it is told by the labels that all its machines have.
    """
    on_gke = any(each.startswith(_GKE) for each in pool.labels)
    taints = (each for each in pool.taints if not (on_gke and each.key in asked))
    return untolerated(taints, tolerations)


def tolerations(spec: Value) -> tuple[Value, ...]:
    """The tolerations of a pod or a flavor.

    Raises:
        Unseen: They are not known.
    """
    return tuple(lookup.items(spec["tolerations"]))


def matches(spec: Value, labels: Mapping[str, str], known: Collection[str]) -> bool:
    """Whether a pod's node selector and required node affinity allow machines of these labels.

    Args:
        spec: The PodSpec.
        labels: Of the machines.
        known: The labels that are judged; others are taken for right.

    Raises:
        Unseen: What the pod asks for is not known.
    """
    for key, each in spec["nodeSelector"].fields():
        if key in known and labels.get(key) != each.text():
            return False
    required = spec.at("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
    terms = tuple(required["nodeSelectorTerms"].items())
    return not terms or any(_term(each, labels, known) for each in terms)


def _term(term: Value, labels: Mapping[str, str], known: Collection[str]) -> bool:
    expressions = tuple(term["matchExpressions"].items())
    return all(_expression(each, labels) for each in expressions if each["key"].text() in known)


def _expression(value: Value, labels: Mapping[str, str]) -> bool:
    found = labels.get(value["key"].text())
    match value["operator"].text():
        case "In":
            return found in {each.text() for each in lookup.items(value["values"])}
        case "NotIn":
            return found not in {each.text() for each in lookup.items(value["values"])}
        case "Exists":
            return found is not None
        case "DoesNotExist":
            return found is None
        case _:
            return True


def _is_tolerated(taint: Taint, tolerations: Sequence[Value]) -> bool:
    return any(_tolerates(each, taint) for each in tolerations)


def _tolerates(toleration: Value, taint: Taint) -> bool:
    key, effect = toleration["key"].text(), toleration["effect"].text()
    exists = toleration["operator"].text() == "Exists"
    if effect not in ("", taint.effect) or key not in ("", taint.key):
        return False
    if exists or not key:
        return exists
    equal = toleration["operator"].text() in ("", "Equal")
    return not equal or toleration["value"].text() == taint.value
