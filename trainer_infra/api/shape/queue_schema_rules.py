"""The CEL rules of Kueue's CRDs, each as a function under its exact text.

For queue_schema.py, as schema_rules.py is for schema.py. The API server puts defaults in before it
asks them, so what is left out is read here as its default. Rules that compare with the old object
are for an update, and no part of this.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from trainer_infra.api.finding import Path, StandIn
from trainer_infra.api.shape.schema_rules import BrokenRule, SchemaRule, repeats
from trainer_infra.names import KUEUE_GROUP, PRIORITY_CLASS, WORKLOAD_PRIORITY_CLASS
from trainer_infra.words import listed

JSON = Mapping[str, Any]

_EFFECTS: Final = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_CLASSES: Final = frozenset((PRIORITY_CLASS, WORKLOAD_PRIORITY_CLASS))
_HOSTNAME: Final = "kubernetes.io/hostname"
_NEVER: Final = "Never"
_NEXT: Final = "TryNextFlavor"
_STOPS: Final = ("MayStopSearch", "Borrow", "Preempt")
"""What else the same fields may say, the latter two in v1beta1."""


def _borrows_alone(spec: JSON) -> Iterator[BrokenRule]:
    if spec.get("cohortName") is not None or spec.get("cohort") is not None:
        return
    for path, resource in _resources(spec):
        limit = resource.get("borrowingLimit")
        if limit is not None:
            what = "is set, and the ClusterQueue has no cohort to borrow from"
            yield BrokenRule((*path, "borrowingLimit"), limit, what, "name a cohort, or remove it")


def _resources(spec: JSON) -> Iterator[tuple[Path, JSON]]:
    for group, each in enumerate(spec.get("resourceGroups") or ()):
        for flavor, quotas in enumerate(each.get("flavors") or ()):
            for index, resource in enumerate(quotas.get("resources") or ()):
                yield ("resourceGroups", group, "flavors", flavor, "resources", index), resource


def _prefers(fungibility: JSON) -> Iterator[BrokenRule]:
    preference = fungibility.get("preference")
    both = (
        fungibility.get("whenCanBorrow") or "MayStopSearch",
        fungibility.get("whenCanPreempt") or _NEXT,
    )
    if preference is not None and any(each in _STOPS for each in both):
        what = f"needs whenCanBorrow and whenCanPreempt to be {_NEXT}"
        fix = f"write {_NEXT} for both, or remove the preference"
        yield BrokenRule(("preference",), preference, what, fix)


def _preempts(preemption: JSON) -> Iterator[BrokenRule]:
    policy = (preemption.get("borrowWithinCohort") or {}).get("policy") or _NEVER
    if (preemption.get("reclaimWithinCohort") or _NEVER) == _NEVER and policy != _NEVER:
        what = f"is not {_NEVER}, and reclaimWithinCohort is"
        fix = f"set reclaimWithinCohort, or write {_NEVER} here"
        yield BrokenRule(("borrowWithinCohort", "policy"), policy, what, fix)


def _one_source(source: JSON) -> Iterator[BrokenRule]:
    if (source.get("kubeConfig") is None) == (source.get("clusterProfileRef") is None):
        yield BrokenRule(what="must have kubeConfig or clusterProfileRef, one of the two")


def _distinct(items: list[Any]) -> Iterator[BrokenRule]:
    for index, first in repeats(items):
        is_level = isinstance(items[index], Mapping)
        got = items[index].get("nodeLabel") if is_level else items[index]
        path: Path = (index, "nodeLabel") if is_level else (index,)
        yield BrokenRule(path, got, f"is the same as item {first}", "remove one of them")


def _hostname_is_last(levels: list[JSON]) -> Iterator[BrokenRule]:
    *others, last = levels or [{}]
    is_last = last.get("nodeLabel") == _HOSTNAME or isinstance(last.get("nodeLabel"), StandIn)
    for index, each in enumerate(others):
        if each.get("nodeLabel") == _HOSTNAME and not is_last:
            what = "may only be the lowest level, the last of the list"
            yield BrokenRule((index, "nodeLabel"), _HOSTNAME, what, "move it to the end")


def _has_labels(spec: JSON) -> Iterator[BrokenRule]:
    if spec.get("topologyName") is not None and not spec.get("nodeLabels"):
        what = "must have a label, because topologyName is set"
        yield BrokenRule(("nodeLabels",), None, what, "write a label of the machines")


def _one_of(key: str, known: Sequence[str]) -> SchemaRule:
    """Of each item a field is one of some words, where it is written."""

    def broken(items: list[JSON]) -> Iterator[BrokenRule]:
        for index, each in enumerate(items):
            said = each.get(key)
            if said is not None and said not in known:
                yield BrokenRule((index, key), said, f"must be {listed(map(repr, known), 'or')}")

    return broken


def _toleration_keys(tolerations: list[JSON]) -> Iterator[BrokenRule]:
    for index, each in enumerate(tolerations):
        operator = each.get("operator")
        if each.get("key") is None and operator != "Exists":
            what = "must be 'Exists' where no key is"
            yield BrokenRule((index, "operator"), operator, what, "write a key, or Exists")


def _toleration_values(tolerations: list[JSON]) -> Iterator[BrokenRule]:
    for index, each in enumerate(tolerations):
        if each.get("operator") == "Exists" and each.get("value") is not None:
            what = "must not be set beside the operator Exists"
            yield BrokenRule((index, "value"), each.get("value"), what, "remove it")


def _toleration_seconds(tolerations: list[JSON]) -> Iterator[BrokenRule]:
    for index, each in enumerate(tolerations):
        if each.get("tolerationSeconds") is not None and each.get("effect") != "NoExecute":
            what = "must be 'NoExecute' where tolerationSeconds is set"
            yield BrokenRule((index, "effect"), each.get("effect"), what)


def _least_count(pods: JSON) -> Iterator[BrokenRule]:
    least = pods.get("minCount")
    if least is not None and least > pods.get("count", 1) >= 0:
        what = f"must be at most {pods.get('count', 1)}, the count"
        yield BrokenRule(("minCount",), least, what)


def _has_priority(spec: JSON) -> Iterator[BrokenRule]:
    names = [spec.get(each) for each in ("priorityClassRef", "priorityClassName")]
    if any(each is not None for each in names) and spec.get("priority") is None:
        yield BrokenRule(("priority",), None, "must be set beside a priority class")


def _class_of(group: str, kind: str) -> SchemaRule:
    def broken(reference: JSON) -> Iterator[BrokenRule]:
        if reference.get("group") == group and reference.get("kind") in _CLASSES - {kind}:
            yield BrokenRule(("kind",), reference.get("kind"), f"must be {kind!r} of {group}")

    return broken


def _alone(cohort: str) -> str:
    """The rule's text, which names the cohort as its version does."""
    flavors = "rg.flavors.all(f, f.resources.all(r, !has(r.borrowingLimit)))"
    return f"!has(self.{cohort}) && has(self.resourceGroups) ? self.resourceGroups.all(rg, {flavors}) : true"


RULES: Final[Mapping[str, SchemaRule]] = {
    _alone("cohortName"): _borrows_alone,
    _alone("cohort"): _borrows_alone,
    "!has(self.preference) || (self.whenCanBorrow == 'TryNextFlavor' && "
    "self.whenCanPreempt == 'TryNextFlavor')": _prefers,
    "!(self.reclaimWithinCohort == 'Never' && has(self.borrowWithinCohort) &&  "
    "self.borrowWithinCohort.policy != 'Never')": _preempts,
    "[has(self.kubeConfig),has(self.clusterProfileRef)].filter(x,x==true).size() == 1": _one_source,
    "size(self.filter(i, size(self.filter(j, j == i)) > 1)) == 0": _distinct,
    "size(self.filter(i, i.nodeLabel == 'kubernetes.io/hostname')) == 0 || "
    "self[size(self) - 1].nodeLabel == 'kubernetes.io/hostname'": _hostname_is_last,
    "!has(self.topologyName) || self.nodeLabels.size() >= 1": _has_labels,
    f"self.all(x, x.effect in {[*_EFFECTS]})": _one_of("effect", _EFFECTS),
    f"self.all(x, !has(x.effect) || x.effect in {[*_EFFECTS]})": _one_of("effect", _EFFECTS),
    "self.all(x, !has(x.operator) || x.operator in ['Equal', 'Exists'])": _one_of(
        "operator", ("Equal", "Exists")
    ),
    "self.all(x, !has(x.key) ? x.operator == 'Exists' : true)": _toleration_keys,
    "self.all(x, has(x.operator) && x.operator == 'Exists' ? !has(x.value) : true)": (
        _toleration_values
    ),
    "self.all(x, has(x.tolerationSeconds) ? x.effect == 'NoExecute' : true)": _toleration_seconds,
    "has(self.minCount) ? self.minCount <= self.count : true": _least_count,
    "has(self.priorityClassName) ? has(self.priority) : true": _has_priority,
    "!has(self.priorityClassRef) || has(self.priority)": _has_priority,
    "(self.group == 'scheduling.k8s.io') ? self.kind == 'PriorityClass' : true": _class_of(
        "scheduling.k8s.io", PRIORITY_CLASS
    ),
    "(self.group == 'kueue.x-k8s.io') ? self.kind == 'WorkloadPriorityClass' : true": _class_of(
        KUEUE_GROUP, WORKLOAD_PRIORITY_CLASS
    ),
}
"""Every rule of Kueue's CRDs that judges one object, but for that of which `covered-resources-order` knows more."""
