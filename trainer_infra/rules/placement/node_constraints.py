"""What machines a pod asks for by their labels.

Pools declare the labels that matter to their owner, not all that machines have: a label that no pool
declares excludes none. So what finds no machine here finds none there.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from trainer_infra.rules.placement import lookup
from trainer_infra.rules.pods import Pod
from trainer_infra.rules.pool import Pool, Taint
from trainer_infra.rules.rule import Value
from trainer_infra.rules.value import ABSENT

_REQUIRED: Final = (
    "affinity",
    "nodeAffinity",
    "requiredDuringSchedulingIgnoredDuringExecution",
    "nodeSelectorTerms",
)


@dataclass(frozen=True, slots=True)
class WantedLabel:
    """A label that every machine must have on which a pod may run."""

    key: str
    values: frozenset[str] | None
    """Its values, one of which a machine has; None for any."""
    place: Value
    """Where the pod says it."""


def wanted_labels(spec: Value) -> Iterator[WantedLabel]:
    """What the node selector of a PodSpec asks for, and what all terms of its required node affinity do."""
    selector = spec["nodeSelector"]
    if selector.is_there():
        for key, each in selector.fields():
            yield WantedLabel(key, frozenset({each.text()}), each)
    if spec["affinity"].raw is ABSENT:
        return
    terms = [tuple(_demands(each)) for each in lookup.items(spec.at(*_REQUIRED))]
    for first in terms[0] if terms else ():
        same = [[one.values for one in term if one.key == first.key] for term in terms]
        if all(same):
            known = [each for values in same for each in values if each is not None]
            is_any = len(known) < sum(map(len, same))
            either = None if is_any else frozenset[str]().union(*known)
            yield WantedLabel(first.key, either, first.place)


def _demands(term: Value) -> Iterator[WantedLabel]:
    for part in ("matchExpressions", "matchFields"):
        for each in lookup.items(term[part]):
            key, operator = each["key"].text(), each["operator"].text()
            if operator == "In":
                values = frozenset(one.text() for one in lookup.items(each["values"]))
                yield WantedLabel(key, values, each)
            elif operator in ("Exists", "Gt", "Lt"):
                yield WantedLabel(key, None, each)


def selected_pools(pod: Pod, among: Sequence[Pool]) -> tuple[Pool, ...]:
    """The pools whose labels the pod asks for."""
    known = {label for pool in among for label in pool.labels}
    return tuple(each for each in among if allows_labels(pod.spec, each.labels, known))


def excluding_label(pod: Pod, among: Sequence[Pool]) -> Value:
    """Of a pod that selects no pool the label of its node selector that excludes the last ones.

    Where none does, its node affinity.
    """
    known, left = {label for pool in among for label in pool.labels}, among
    for key, each in pod.spec["nodeSelector"].fields():
        if key in known:
            left = [pool for pool in left if pool.labels.get(key) == each.text()]
        if not left:
            return each
    return pod.spec.at(*_REQUIRED)


def allows_labels(spec: Value, labels: Mapping[str, str], known: Collection[str]) -> bool:
    """Whether the node selector and required node affinity of a PodSpec allow machines of these labels.

    Labels that are not `known` are taken for right.
    """
    for key, each in spec["nodeSelector"].fields():
        if key in known and labels.get(key) != each.text():
            return False
    terms = tuple(spec.at(*_REQUIRED).items())
    return not terms or any(
        all(
            _expression(each, labels)
            for each in term["matchExpressions"].items()
            if each["key"].text() in known
        )
        for term in terms
    )


def _expression(value: Value, labels: Mapping[str, str]) -> bool:
    found = labels.get(value["key"].text())
    match value["operator"].text():
        case "In" | "NotIn" as operator:
            is_listed = found in {each.text() for each in lookup.items(value["values"])}
            return is_listed == (operator == "In")
        case "Exists":
            return found is not None
        case "DoesNotExist":
            return found is None
        case _:
            return True


def selects(selector: Value, labels: Mapping[str, str]) -> bool:
    """Whether a label selector selects what has these labels."""
    selector["matchLabels"].is_there()
    wanted = selector["matchLabels"].fields()
    return all(labels.get(key) == each.text() for key, each in wanted) and all(
        _expression(each, labels) for each in lookup.items(selector["matchExpressions"])
    )


_HARD: Final = ("NoSchedule", "NoExecute")
_GKE: Final = "cloud.google.com/gke-"


def tolerations_of(spec: Value) -> tuple[Value, ...]:
    """The tolerations of a pod or a flavor."""
    return tuple(lookup.items(spec["tolerations"]))


def untolerated_taint(taints: Iterable[Taint], tolerations: Sequence[Value]) -> Taint | None:
    """The first taint that keeps a pod away."""
    hard = (each for each in taints if each.effect in _HARD)
    return next((t for t in hard if not any(_tolerates(each, t) for each in tolerations)), None)


def keeps_away(pool: Pool, asked: Collection[str], tolerations: Sequence[Value]) -> Taint | None:
    """The taint of a pool that keeps a pod away.

    GKE adds tolerations for the extended resources that a pod asks for (the admission plugin
    ExtendedResourceToleration); the labels that all its machines have say what it is.
    """
    on_gke = any(each.startswith(_GKE) for each in pool.labels)
    taints = (each for each in pool.taints if not (on_gke and each.key in asked))
    return untolerated_taint(taints, tolerations)


def _tolerates(toleration: Value, taint: Taint) -> bool:
    key, effect = toleration["key"].text(), toleration["effect"].text()
    exists = toleration["operator"].text() == "Exists"
    if effect not in ("", taint.effect) or key not in ("", taint.key):
        return False
    if exists or not key:
        return exists
    equal = toleration["operator"].text() in ("", "Equal")
    return not equal or toleration["value"].text() == taint.value
