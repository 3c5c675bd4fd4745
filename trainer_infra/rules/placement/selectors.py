"""What machines a pod asks for by their labels.

Pools declare the labels that matter to their owner, not all that machines have: a label that no pool
declares excludes none. So what finds no machine here finds none there.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from trainer_infra.rules.placement import lookup
from trainer_infra.rules.pods import Pod
from trainer_infra.rules.pool import Pool
from trainer_infra.rules.value import Value

_REQUIRED: Final = (
    "affinity",
    "nodeAffinity",
    "requiredDuringSchedulingIgnoredDuringExecution",
    "nodeSelectorTerms",
)


def selected_pools(pod: Pod, among: Sequence[Pool]) -> tuple[Pool, ...]:
    """The pools whose labels the pod asks for.

    Raises:
        UnseenValue: What it asks for is not known.
    """
    known = {label for pool in among for label in pool.labels}
    return tuple(each for each in among if matches(pod.spec, each.labels, known))


def excluding_label(pod: Pod, among: Sequence[Pool]) -> Value:
    """Of a pod that selects no pool the label of its node selector that excludes the last ones.

    Where none does, its node affinity.

    Raises:
        UnseenValue: What it asks for is not known.
    """
    known, left = {label for pool in among for label in pool.labels}, among
    for key, each in pod.spec["nodeSelector"].fields():
        if key in known:
            left = [pool for pool in left if pool.labels.get(key) == each.text()]
        if not left:
            return each
    return pod.spec.at(*_REQUIRED)


def matches(spec: Value, labels: Mapping[str, str], known: Collection[str]) -> bool:
    """Whether a pod's node selector and required node affinity allow machines of these labels.

    Args:
        spec: The PodSpec.
        labels: Of the machines.
        known: The labels that are judged; others are taken for right.

    Raises:
        UnseenValue: What the pod asks for is not known.
    """
    for key, each in spec["nodeSelector"].fields():
        if key in known and labels.get(key) != each.text():
            return False
    terms = tuple(spec.at(*_REQUIRED).items())
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
