"""probe-hosts: a kubelet asks a pod, and nothing else, whether it is well."""

from collections.abc import Iterator
from typing import Final

from trainer_infra.rules import pods
from trainer_infra.rules.pod_templates import WORKLOADS
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject, Value

_HANDLERS: Final = (
    ("livenessProbe",),
    ("readinessProbe",),
    ("startupProbe",),
    ("lifecycle", "postStart"),
    ("lifecycle", "preStop"),
)


def _places(subject: Subject) -> Iterator[Value]:
    for container in pods.containers(subject):
        for handler in _HANDLERS:
            for way in ("httpGet", "tcpSocket"):
                yield container.value.at(*handler, way, "host")


def _check(place: Value, _context: Context[Parameters]) -> Iterator[Finding]:
    if place.text():
        what = "makes the kubelet connect to another host"
        fix = "remove it: the kubelet asks the pod itself"
        yield place.finding(what, place.text(), fix)


RULE: Final = Rule(
    id="probe-hosts",
    title="Probes ask no other host",
    severity=Severity.HIGH,
    kinds=WORKLOADS,
    tags=("pod-security", "network"),
    frameworks=("pod-security-standards/baseline", "owasp-k8s/K01"),
    why=(
        "The kubelet asks from the node's own network, where it reaches what no pod may. From "
        "Kubernetes 1.34 on a namespace of the level baseline admits no such pod."
    ),
    fix="Remove `host` from probes and lifecycle handlers.",
    places=_places,
    check=_check,
)
