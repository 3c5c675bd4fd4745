"""sysctls: a pod sets no kernel parameter that others feel."""

from collections.abc import Iterator
from typing import Final

from trainer_infra.rules import pods
from trainer_infra.rules.pod_templates import WORKLOADS
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject, Value

_SAFE: Final = frozenset(
    (
        "kernel.shm_rmid_forced",
        "net.ipv4.ip_local_port_range",
        "net.ipv4.ip_local_reserved_ports",
        "net.ipv4.ip_unprivileged_port_start",
        "net.ipv4.ping_group_range",
        "net.ipv4.tcp_fin_timeout",
        "net.ipv4.tcp_keepalive_intvl",
        "net.ipv4.tcp_keepalive_probes",
        "net.ipv4.tcp_keepalive_time",
        "net.ipv4.tcp_rmem",
        "net.ipv4.tcp_syncookies",
        "net.ipv4.tcp_wmem",
    )
)
"""Of the level baseline of Kubernetes 1.32 and later."""


class Sysctls(Parameters):
    """What kernel parameters may be set."""

    allow: tuple[str, ...] = ()
    """Names besides the safe ones; the kubelet must allow them, too."""


def _places(subject: Subject) -> Iterator[Value]:
    for pod in pods.pods_of(subject):
        for each in pod.spec.at("securityContext", "sysctls").items():
            yield each["name"]


def _check(place: Value, context: Context[Sysctls]) -> Iterator[Finding]:
    if place.is_there() and place.text() not in _SAFE.union(context.parameters.allow):
        fix = "remove it, or put it in `allow` where the kubelets allow it"
        yield place.finding("is a kernel parameter that other pods feel", place.text(), fix)


RULE: Final = Rule(
    id="sysctls",
    title="Pods set only safe kernel parameters",
    severity=Severity.HIGH,
    kinds=WORKLOADS,
    tags=("pod-security",),
    frameworks=("pod-security-standards/baseline", "owasp-k8s/K01"),
    why=(
        "Other parameters change the node for every pod on it. A kubelet starts no pod with one that "
        "it was not told to allow, and a namespace of the level baseline admits none."
    ),
    fix="Remove the parameter, or have the node's administrator set it.",
    places=_places,
    check=_check,
    parameters=Sysctls,
)
