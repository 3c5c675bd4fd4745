"""tolerations: a toleration is one that Kubernetes can compare with a taint.

Source: Kubernetes' validation of pods (`ValidateTolerations`).
"""

from collections.abc import Iterator
from typing import Final

from trainer_infra.rules.admission import field, written_places
from trainer_infra.rules.name_syntax import LABEL_VALUE, QUALIFIED_NAME
from trainer_infra.rules.pods import WORKLOADS, Pod
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Value

_EXISTS: Final = "Exists"
_EQUAL: Final = ("", "Equal")
_ENDS: Final = "NoExecute"


def _agrees(toleration: Value) -> Iterator[Finding]:
    """What its fields say of one another."""
    operator, value = toleration["operator"], toleration["value"]
    effect, seconds = toleration["effect"], toleration["tolerationSeconds"]
    if field.is_empty(toleration["key"]) and operator.text() in _EQUAL:
        what = "must be Exists where no key is written"
        yield operator.finding(what, operator.text() or None, "name the key of the taint")
    if seconds.is_there() and effect.text() != _ENDS:
        what = f"must be {_ENDS} where tolerationSeconds is written"
        yield effect.finding(what, effect.text() or None)
    if operator.text() == _EXISTS and value.text():
        yield value.finding("must not be written where the operator is Exists", value.text())
    if operator.text() in _EQUAL:
        yield from field.found_in(value, field.text(LABEL_VALUE))


_TOLERATIONS: Final = field.items(
    field.every(
        field.fields(
            {
                "key": field.text(QUALIFIED_NAME),
                "operator": field.choice("Equal", _EXISTS),
                "effect": field.choice("NoSchedule", "PreferNoSchedule", _ENDS),
            }
        ),
        _agrees,
    )
)


def _check(pod: Pod, context: Context[Parameters]) -> Iterator[Finding]:
    yield from field.unsaid(field.found_in(pod.spec["tolerations"], _TOLERATIONS), context)


RULE: Final = Rule(
    id="tolerations",
    title="Tolerations are ones that Kubernetes can compare with a taint",
    severity=Severity.HIGH,
    kinds=WORKLOADS,
    tags=("admission", "scheduling"),
    why="The API server refuses each of the pods, and the job waits for ever.",
    fix="Write `operator: Exists` with no value, or a key and a value.",
    places=written_places.pods_with("tolerations"),
    check=_check,
)
