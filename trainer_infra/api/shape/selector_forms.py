"""Forms of labels, of selectors and of what looks at nodes and pods through them: affinity, spread, taints.

Source: k8s.io/apimachinery `ValidateLabelSelector` and `ValidateLabels`, and Kubernetes' validation of pods
(`validateAffinity`, `ValidateTolerations`, `validateTopologySpreadConstraints` and what these call).
"""

from collections.abc import Iterable
from typing import Final

from trainer_infra.api.shape.form import (
    JSON,
    asked,
    choice,
    every,
    fields,
    items,
    number,
    required,
    text,
    unique,
    values,
)
from trainer_infra.api.shape.schema_rules import Broken, BrokenRule
from trainer_infra.api.shape.syntax import DNS_LABEL, DNS_SUBDOMAIN, LABEL_VALUE, QUALIFIED_NAME
from trainer_infra.api.shape.walk import Schema

_SETS: Final = ("In", "NotIn")
_PRESENCE: Final = ("Exists", "DoesNotExist")
_ORDER: Final = ("Gt", "Lt")
_MATCHED: Final = "matchLabelKeys"
_MISMATCHED: Final = "mismatchLabelKeys"
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_EXISTS: Final = "Exists"
_EQUAL: Final = (None, "", "Equal")
_ENDS: Final = "NoExecute"
_STRICT: Final = "DoNotSchedule"


def _label_keys(labels: Iterable[str]) -> Broken:
    for key in labels:
        if not QUALIFIED_NAME.fits(key):
            yield BrokenRule((key,), key, f"has a key that must be {QUALIFIED_NAME.words}")


LABELS: Final = every(asked(_label_keys), values(text(LABEL_VALUE)))
"""Labels and their values."""


def _count_fits(requirement: JSON) -> Broken:
    operator, count = requirement.get("operator"), len(requirement.get("values") or ())
    if operator in _SETS and not count:
        what = f"is required where the operator is {operator}"
        yield BrokenRule(("values",), None, what)
    if operator in _PRESENCE and count:
        what = f"must not be written where the operator is {operator}"
        yield BrokenRule(("values",), None, what)
    if operator in _ORDER and count != 1:
        what = f"must be one value where the operator is {operator}"
        yield BrokenRule(("values",), None, what)


def _one_value(requirement: JSON) -> Broken:
    operator = requirement.get("operator")
    if isinstance(operator, str) and operator and len(requirement.get("values") or ()) != 1:
        what = f"must be one value where the operator is {operator}"
        yield BrokenRule(("values",), None, what)


def _requirements(*more: str, value: Schema) -> Schema:
    """Expressions of a selector, with operators that this one has beside the usual ones."""
    one = fields(
        key=text(QUALIFIED_NAME), operator=choice(*_SETS, *_PRESENCE, *more), values=items(value)
    )
    return items(every(required("key", "operator"), one, asked(_count_fits)))


_VALUE: Final = text(LABEL_VALUE)
SELECTOR: Final = fields(matchLabels=LABELS, matchExpressions=_requirements(value=_VALUE))
"""A selector of pods or namespaces."""


def _needs_selector(place: JSON) -> Broken:
    """Keys that are added to a selector with the pod's own values: there is one."""
    for name in (_MATCHED, _MISMATCHED):
        if place.get(name) and place.get("labelSelector") is None:
            yield BrokenRule((name,), None, "needs a labelSelector")


def _added_once(place: JSON) -> Broken:
    """No key is added and left out, or added and written: the API server refuses the pods, if not the Job."""
    added = {*(place.get(_MATCHED) or ())}
    if added & {*(place.get(_MISMATCHED) or ())}:
        yield BrokenRule((_MATCHED,), None, f"has a key of {_MISMATCHED}, too")
    selector = place.get("labelSelector") or {} if added else {}
    written = {*(selector.get("matchLabels") or ())}
    written |= {each.get("key") for each in selector.get("matchExpressions") or ()}
    if added & written:
        yield BrokenRule((_MATCHED,), None, "has a key of the labelSelector, too")


_KEYS: Final = items(text(QUALIFIED_NAME, is_optional=False))
_FILLED: Final = every(
    fields(labelSelector=SELECTOR, **{_MATCHED: _KEYS, _MISMATCHED: _KEYS}),
    asked(_needs_selector, _added_once),
)
"""What has a selector and keys whose values a pod's own labels fill in."""

_FIELD: Final = every(
    required("key", "operator"),
    fields(
        key=choice("metadata.name"),
        operator=choice(*_SETS),
        values=items(text(DNS_SUBDOMAIN, is_optional=False)),
    ),
    asked(_one_value),
)


def _node_term(value: Schema) -> Schema:
    return fields(matchExpressions=_requirements(*_ORDER, value=value), matchFields=items(_FIELD))


def _weighted(name: str, one: Schema, *demanded: str) -> Schema:
    weighs = fields(weight=number(1, 100), **{name: one})
    return items(every(required("weight", *demanded), weighs))


_POD_TERM: Final = every(
    required("topologyKey"),
    fields(
        topologyKey=text(QUALIFIED_NAME),
        namespaceSelector=SELECTOR,
        namespaces=items(text(DNS_LABEL, is_optional=False)),
    ),
    _FILLED,
)
_OF_PODS: Final = fields(
    **{
        _REQUIRED: items(_POD_TERM),
        _PREFERRED: _weighted("podAffinityTerm", _POD_TERM, "podAffinityTerm"),
    }
)
_TERMS: Final = "nodeSelectorTerms"
_OF_NODES: Final = fields(
    **{
        _REQUIRED: every(
            required(_TERMS, fix="write what nodes are required"),
            fields(**{_TERMS: items(_node_term(_VALUE))}),
        ),
        _PREFERRED: _weighted("preference", _node_term({})),
    }
)


def _tolerates(toleration: JSON) -> Broken:
    """What its fields say of one another."""
    operator, value = toleration.get("operator"), toleration.get("value")
    if operator in _EQUAL and not toleration.get("key"):
        what = "must be Exists where no key is written"
        yield BrokenRule(("operator",), operator, what, "name the key of the taint")
    if operator == _EXISTS and value:
        yield BrokenRule(("value",), value, "must not be written where the operator is Exists")
    if operator in _EQUAL and value and not LABEL_VALUE.fits(value):
        yield BrokenRule(("value",), value, f"must be {LABEL_VALUE.words}")


def _ends_in_time(toleration: JSON) -> Broken:
    effect = toleration.get("effect")
    if toleration.get("tolerationSeconds") is not None and effect != _ENDS:
        what = f"must be {_ENDS} where tolerationSeconds is written"
        yield BrokenRule(("effect",), effect or None, what)


def _least_domains(constraint: JSON) -> Broken:
    least = constraint.get("minDomains")
    if least is not None and constraint.get("whenUnsatisfiable") != _STRICT:
        yield BrokenRule(("minDomains",), least, f"needs whenUnsatisfiable: {_STRICT}")


_INCLUSION: Final = choice("Honor", "Ignore", is_optional=False)
_CONSTRAINT: Final = every(
    required("maxSkew", "topologyKey", "whenUnsatisfiable"),
    fields(
        maxSkew=number(1),
        minDomains=number(1),
        whenUnsatisfiable=choice(_STRICT, "ScheduleAnyway"),
        nodeAffinityPolicy=_INCLUSION,
        nodeTaintsPolicy=_INCLUSION,
    ),
    _FILLED,
    asked(_least_domains),
)
AFFINITY: Final = fields(
    nodeSelector=LABELS,
    affinity=fields(nodeAffinity=_OF_NODES, podAffinity=_OF_PODS, podAntiAffinity=_OF_PODS),
)
"""Of a PodSpec, what it says of its nodes and of other pods."""
_TOLERATION: Final = fields(
    key=text(QUALIFIED_NAME),
    operator=choice("Equal", _EXISTS),
    effect=choice("NoSchedule", "PreferNoSchedule", _ENDS),
)
TOLERATIONS: Final = fields(tolerations=items(every(_TOLERATION, asked(_tolerates, _ends_in_time))))
"""Of a PodSpec, its tolerations."""
SPREAD: Final = fields(
    topologySpreadConstraints=every(items(_CONSTRAINT), unique("topologyKey", "whenUnsatisfiable"))
)
"""Of a PodSpec, how its pods are spread."""
