"""affinity: node selectors and affinity say what the scheduler can look for.

Source: Kubernetes' validation of pods (`validateAffinity` and what that calls).
"""

from collections.abc import Iterator
from typing import Final

from trainer_infra.rules.admission import field, label_selectors, written_places
from trainer_infra.rules.admission.field import Check
from trainer_infra.rules.name_syntax import DNS_LABEL, DNS_SUBDOMAIN, QUALIFIED_NAME
from trainer_infra.rules.pods import WORKLOADS, Pod
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Value

_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_WEIGHT: Final = field.number(1, 100)
_BY_NAME: Final = "metadata.name"


def _of_field(place: Value) -> Iterator[Finding]:
    operator, values = place["operator"].text(), place["values"]
    if operator and len(field.all_items(values)) != 1:
        yield values.finding(f"must be one value where the operator is {operator}")


_FIELD: Final = field.every(
    field.required("key", "operator"),
    field.fields(
        {
            "key": field.choice(_BY_NAME),
            "operator": field.choice("In", "NotIn"),
            "values": field.items(field.text(DNS_SUBDOMAIN, is_optional=False)),
        }
    ),
    _of_field,
)


def _term(*, judges_values: bool) -> Check:
    one = label_selectors.requirement(of_nodes=True, judges_values=judges_values)
    return field.fields({"matchExpressions": field.items(one), "matchFields": field.items(_FIELD)})


def _has_terms(selector: Value) -> Iterator[Finding]:
    terms = selector["nodeSelectorTerms"]
    if not field.all_items(terms):
        yield terms.finding("is required", None, "write what nodes are required")


_OF_NODES: Final = field.fields(
    {
        _REQUIRED: field.every(
            _has_terms,
            field.fields({"nodeSelectorTerms": field.items(_term(judges_values=True))}),
        ),
        _PREFERRED: field.items(
            field.every(
                field.required("weight"),
                field.fields({"weight": _WEIGHT, "preference": _term(judges_values=False)}),
            )
        ),
    }
)
_POD_TERM: Final = field.every(
    field.required("topologyKey"),
    field.fields(
        {
            "topologyKey": field.text(QUALIFIED_NAME),
            "labelSelector": label_selectors.SELECTOR,
            "namespaceSelector": label_selectors.SELECTOR,
            "namespaces": field.items(field.text(DNS_LABEL, is_optional=False)),
        }
    ),
    label_selectors.filled_keys,
    label_selectors.filled_twice,
)
_OF_PODS: Final = field.fields(
    {
        _REQUIRED: field.items(_POD_TERM),
        _PREFERRED: field.items(
            field.every(
                field.required("weight", "podAffinityTerm"),
                field.fields({"weight": _WEIGHT, "podAffinityTerm": _POD_TERM}),
            )
        ),
    }
)
_SPEC: Final = field.fields(
    {
        "nodeSelector": label_selectors.labels,
        "affinity": field.fields(
            {"nodeAffinity": _OF_NODES, "podAffinity": _OF_PODS, "podAntiAffinity": _OF_PODS}
        ),
    }
)


def _check(pod: Pod, context: Context[Parameters]) -> Iterator[Finding]:
    yield from field.unsaid(field.found_in(pod.spec, _SPEC), context)


RULE: Final = Rule(
    id="affinity",
    title="Node selectors and affinity say what the scheduler can look for",
    severity=Severity.HIGH,
    kinds=WORKLOADS,
    tags=("admission", "scheduling"),
    why="The API server refuses each of the pods, and the job waits for ever.",
    fix="Write labels as nodes have them, and operators with the values that they need.",
    places=written_places.pods_with("nodeSelector", "affinity"),
    check=_check,
)
