"""topology-spread: a topology spread constraint counts what the scheduler can count.

Source: Kubernetes' validation of pods (`validateTopologySpreadConstraints`).
"""

from collections.abc import Iterator
from typing import Final

from trainer_infra.rules.admission import field, label_selectors, written_places
from trainer_infra.rules.pods import WORKLOADS, Pod
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Value

_STRICT: Final = "DoNotSchedule"
_INCLUSION: Final = field.choice("Honor", "Ignore", is_optional=False)


def _least_domains(constraint: Value) -> Iterator[Finding]:
    least = constraint["minDomains"]
    if least.is_there() and constraint["whenUnsatisfiable"].text() != _STRICT:
        yield least.finding(f"needs whenUnsatisfiable: {_STRICT}", least.number())


_CONSTRAINTS: Final = field.every(
    field.items(
        field.every(
            field.required("maxSkew", "topologyKey", "whenUnsatisfiable"),
            field.fields(
                {
                    "maxSkew": field.number(1),
                    "minDomains": field.number(1),
                    "whenUnsatisfiable": field.choice(_STRICT, "ScheduleAnyway"),
                    "nodeAffinityPolicy": _INCLUSION,
                    "nodeTaintsPolicy": _INCLUSION,
                    "labelSelector": label_selectors.SELECTOR,
                }
            ),
            _least_domains,
            label_selectors.filled_keys,
            label_selectors.filled_twice,
        )
    ),
    field.unique("topologyKey", "whenUnsatisfiable"),
)


def _check(pod: Pod, context: Context[Parameters]) -> Iterator[Finding]:
    constraints = pod.spec["topologySpreadConstraints"]
    yield from field.unsaid(field.found_in(constraints, _CONSTRAINTS), context)


RULE: Final = Rule(
    id="topology-spread",
    title="Topology spread constraints count what the scheduler can count",
    severity=Severity.HIGH,
    kinds=WORKLOADS,
    tags=("admission", "scheduling"),
    why="The API server refuses each of the pods, and the job waits for ever.",
    fix="Write maxSkew from 1 on, a topologyKey, and DoNotSchedule or ScheduleAnyway.",
    places=written_places.pods_with("topologySpreadConstraints"),
    check=_check,
)
