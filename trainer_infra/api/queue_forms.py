"""How Kueue's webhook wants texts written that its CRDs leave open: labels, selectors, taints, weights.

For queue_schema.py, which puts these into the schemas. Facts: Kueue v0.19, pkg/webhooks; selectors
as apimachinery's `ValidateLabelSelector`. What one field says of another is policy's
(rules/scheduling).
"""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any, Final

from trainer_infra.api import quantity
from trainer_infra.api.object_meta import LABEL_KEY, LABEL_KEY_OR_EMPTY, LABEL_VALUE, LABELS
from trainer_infra.api.schema_rules import BrokenRule, SchemaRule
from trainer_infra.api.schema_walk import Schema
from trainer_infra.errors import InvalidInput
from trainer_infra.names import CLUSTER_QUEUE, COHORT, RESOURCE_FLAVOR, WORKLOAD

JSON = Mapping[str, Any]

_WITH_VALUES: Final = ("In", "NotIn")
_OPERATORS: Final = (*_WITH_VALUES, "Exists", "DoesNotExist")
_LEAST_WEIGHT: Final = Decimal("1e-9")


def _values_fit(requirement: JSON) -> Iterator[BrokenRule]:
    operator, values = requirement.get("operator"), requirement.get("values") or []
    if operator in _WITH_VALUES and not values:
        yield BrokenRule(("values",), None, f"must have a value for the operator {operator}")
    elif operator in _OPERATORS[2:] and values:
        yield BrokenRule(("values",), None, f"must be empty for the operator {operator}")


def _distinct_taints(taints: list[JSON]) -> Iterator[BrokenRule]:
    seen = [(each.get("key"), each.get("effect")) for each in taints]
    for index, each in enumerate(seen):
        if None not in each and seen.index(each) != index:
            what = f"has the key and the effect of item {seen.index(each)}"
            yield BrokenRule((index,), f"{each[0]}:{each[1]}", what, "remove one of them")


def _weighs(sharing: JSON) -> Iterator[BrokenRule]:
    weight = sharing.get("weight")
    try:
        found = Decimal(1) if weight is None else quantity.parse_quantity(weight)
    except (InvalidInput, ValueError):
        return
    if found < 0 or 0 < found <= _LEAST_WEIGHT:
        yield BrokenRule(("weight",), weight, "must be 0, or more than 1n")


def _counts_no_pods(requests: JSON) -> Iterator[BrokenRule]:
    if "pods" in requests:
        what = "is a resource that Kueue counts itself"
        yield BrokenRule(("pods",), requests["pods"], what, "remove it")


def _one_count_varies(pod_sets: list[JSON]) -> Iterator[BrokenRule]:
    varying = [index for index, each in enumerate(pod_sets) if each.get("minCount") is not None]
    for index in varying[1:]:
        what = f"is set in podSets[{varying[0]}] too, and Kueue takes it in one"
        yield BrokenRule((index, "minCount"), pod_sets[index]["minCount"], what)


def _ruled(rule: str) -> Schema:
    return {"x-kubernetes-validations": [{"rule": rule, "message": rule}]}


def _fields(**properties: Schema) -> Schema:
    return {"properties": properties}


_VALUES: Final = "values fit the operator"
_TAINTS: Final = "taints are unique by key and effect"
_WEIGHT: Final = "the weight is none that becomes 0"
_REQUESTS: Final = "no request is of pods"
_COUNTS: Final = "one pod set has a minCount"
FORM_RULES: Final[Mapping[str, SchemaRule]] = {
    _VALUES: _values_fit,
    _TAINTS: _distinct_taints,
    _WEIGHT: _weighs,
    _REQUESTS: _counts_no_pods,
    _COUNTS: _one_count_varies,
}
"""The rules that the forms below name; the text is our own."""

_SELECTOR: Final = _fields(
    matchLabels=LABELS,
    matchExpressions={
        "items": _fields(
            key=LABEL_KEY, operator={"enum": [*_OPERATORS]}, values={"items": LABEL_VALUE}
        )
        | _ruled(_VALUES)
    },
)
_CONTAINERS: Final[Schema] = {"items": _fields(resources=_fields(requests=_ruled(_REQUESTS)))}
_POD_SET: Final = _fields(
    template=_fields(spec=_fields(initContainers=_CONTAINERS, containers=_CONTAINERS))
)
_QUOTAS: Final = {
    "fairSharing": _ruled(_WEIGHT),
    "resourceGroups": {"items": _fields(coveredResources={"items": LABEL_KEY})},
}
FORMS: Final[Mapping[str, Schema]] = {
    WORKLOAD: _fields(spec=_fields(podSets={"items": _POD_SET} | _ruled(_COUNTS))),
    CLUSTER_QUEUE: _fields(spec=_fields(**_QUOTAS, namespaceSelector=_SELECTOR)),
    COHORT: _fields(spec=_fields(**_QUOTAS)),
    RESOURCE_FLAVOR: _fields(
        spec=_fields(
            nodeLabels=LABELS,
            nodeTaints={"items": _fields(key=LABEL_KEY, value=LABEL_VALUE)} | _ruled(_TAINTS),
            tolerations={"items": _fields(key=LABEL_KEY_OR_EMPTY)},
        )
    ),
}
"""By kind, what goes into its schema."""


def with_form(published: Schema, form: Schema, shared: Mapping[str, Schema]) -> Schema:
    """A published schema with a form put into it.

    Args:
        published: Not changed, nor what it refers to.
        form: Parts of a schema, for fields that it has.
        shared: What it may refer to, by name.
    """
    published = shared[published["$ref"]] if "$ref" in published else published
    joined = dict(published)
    for key, part in form.items():
        match key:
            case "properties":
                own: dict[str, Schema] = published[key]
                inner = {name: with_form(own[name], each, shared) for name, each in part.items()}
                joined[key] = own | inner
            case "items":
                joined[key] = with_form(published[key], part, shared)
            case "x-kubernetes-validations":
                joined[key] = [*published.get(key, ()), *part]
            case _:
                joined[key] = part
    return joined
