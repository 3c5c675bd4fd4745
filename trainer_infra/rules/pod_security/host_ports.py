"""host-ports: a container takes no port of its node."""

from collections.abc import Iterator
from typing import Final

from trainer_infra.rules import pods
from trainer_infra.rules.pod_templates import WORKLOADS
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject, Value


def _places(subject: Subject) -> Iterator[Value]:
    for container in pods.containers(subject):
        yield from (each["hostPort"] for each in container.value["ports"].items())


def _check(place: Value, _context: Context[Parameters]) -> Iterator[Finding]:
    if port := place.number():
        fix = "remove it; nodes of a job reach one another by their names"
        yield place.finding("takes a port of the node", port, fix)


RULE: Final = Rule(
    id="host-ports",
    title="Containers take no port of their node",
    severity=Severity.HIGH,
    kinds=WORKLOADS,
    tags=("pod-security", "network"),
    frameworks=("pod-security-standards/baseline", "cis-kubernetes/5.2.13", "owasp-k8s/K01"),
    why=(
        "Two pods with one port never run on one node, and no NetworkPolicy guards it. A namespace of "
        "the level baseline admits no such pod."
    ),
    fix="Remove `hostPort`.",
    places=_places,
    check=_check,
)
