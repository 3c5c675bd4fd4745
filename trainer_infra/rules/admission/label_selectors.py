"""Selectors of labels, and the keys whose values a pod's own labels fill in.

Source: k8s.io/apimachinery `ValidateLabelSelector`, and Kubernetes' validation of pods
(`ValidateMatchLabelKeysAndMismatchLabelKeys`).
"""

from collections.abc import Iterator
from typing import Final

from trainer_infra.rules.admission import field
from trainer_infra.rules.admission.field import Check
from trainer_infra.rules.name_syntax import LABEL_VALUE, QUALIFIED_NAME
from trainer_infra.rules.rule import Finding, Value

_SETS: Final = ("In", "NotIn")
_PRESENCE: Final = ("Exists", "DoesNotExist")
_ORDER: Final = ("Gt", "Lt")
_KEYS: Final = ("matchLabelKeys", "mismatchLabelKeys")


def labels(place: Value) -> Iterator[Finding]:
    """Labels and their values."""
    for key, value in place.fields():
        if not QUALIFIED_NAME.fits(key):
            yield value.finding(f"has a key that must be {QUALIFIED_NAME.words}", key)
        yield from field.found_in(value, field.text(LABEL_VALUE))


def _values(place: Value, most_of: tuple[str, ...]) -> Iterator[Finding]:
    operator, values = place["operator"].text(), place["values"]
    count = len(field.all_items(values))
    if operator in _SETS and not count:
        yield values.finding(f"is required where the operator is {operator}")
    if operator in _PRESENCE and count:
        yield values.finding(f"must not be written where the operator is {operator}")
    if operator in most_of and count != 1:
        yield values.finding(f"must be one value where the operator is {operator}")


def requirement(*, of_nodes: bool, judges_values: bool = True) -> Check:
    """One expression of a selector.

    Args:
        of_nodes: Whether it compares with numbers, too.
        judges_values: Whether values must be those that a label can have.
    """
    order = _ORDER if of_nodes else ()
    checks: dict[str, Check] = {
        "key": field.text(QUALIFIED_NAME),
        "operator": field.choice(*_SETS, *_PRESENCE, *order),
    }
    if judges_values:
        checks["values"] = field.items(field.text(LABEL_VALUE))
    return field.every(
        field.required("key", "operator"),
        field.fields(checks),
        lambda place: _values(place, order),
    )


SELECTOR: Final = field.fields(
    {
        "matchLabels": labels,
        "matchExpressions": field.items(requirement(of_nodes=False)),
    }
)
"""A selector of pods or namespaces."""


def filled_keys(place: Value) -> Iterator[Finding]:
    """Keys that are added to a selector with the pod's own values: there is one, and it has none of them."""
    if not any(place[each].is_there() for each in _KEYS):
        return
    selector = place["labelSelector"]
    matched = place[_KEYS[0]].texts()
    for name in _KEYS:
        keys = place[name]
        if keys.texts() and not selector.is_there():
            yield keys.finding("needs a labelSelector")
        yield from field.found_in(keys, field.items(field.text(QUALIFIED_NAME, is_optional=False)))
    if {*matched} & {*place[_KEYS[1]].texts()}:
        yield place[_KEYS[0]].finding("has a key of mismatchLabelKeys, too")


def filled_twice(place: Value) -> Iterator[Finding]:
    """Keys that are added and that the selector has: the API server refuses the pods, if not the Job."""
    keys = place[_KEYS[0]].texts()
    selector = place["labelSelector"]
    written = {key for key, _ in selector["matchLabels"].fields()}
    written |= {each["key"].text() for each in selector["matchExpressions"].items()}
    if keys and written & {*keys}:
        yield place[_KEYS[0]].finding("has a key of the labelSelector, too")
