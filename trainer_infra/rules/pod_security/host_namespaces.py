"""host-namespaces: a pod has a network, processes and memory of its own."""

from collections.abc import Iterator
from typing import Final, Literal

from trainer_infra.rules import pods
from trainer_infra.rules.pod_templates import WORKLOADS
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject, Value

_SHARED: Final = {
    "hostNetwork": "network",
    "hostPID": "processes",
    "hostIPC": "shared memory",
}
"""What of its node a pod shares, by the field that says so."""


class HostNamespaces(Parameters):
    """What pods may share with their node."""

    allow: tuple[Literal["hostNetwork", "hostPID", "hostIPC"], ...] = ()
    """Fields that may be true; `hostNetwork` where RDMA needs it."""


def _places(subject: Subject) -> Iterator[Value]:
    for pod in pods.pods_of(subject):
        yield from (pod.spec[each] for each in _SHARED)


def _check(place: Value, context: Context[HostNamespaces]) -> Iterator[Finding]:
    field = str(place.path[-1])
    if place.flag() is True and field not in context.parameters.allow:
        what = f"shares the node's {_SHARED[field]} with the pod"
        fix = "set it to false; where RDMA needs hostNetwork, put that in `allow`"
        yield place.finding(what, True, fix, place.set_to(value=False))


RULE: Final = Rule(
    id="host-namespaces",
    title="Pods share no namespace with their node",
    severity=Severity.CRITICAL,
    kinds=WORKLOADS,
    tags=("pod-security", "rdma"),
    frameworks=(
        "pod-security-standards/baseline",
        "cis-kubernetes/5.2.3",
        "cis-kubernetes/5.2.4",
        "cis-kubernetes/5.2.5",
        "owasp-k8s/K01",
    ),
    why=(
        "In its node's namespaces a pod sees other pods' processes, memory and traffic, and "
        "reaches services that trust the node, such as the cloud's credentials."
    ),
    fix="Set `hostNetwork`, `hostPID` and `hostIPC` to false.",
    places=_places,
    check=_check,
    parameters=HostNamespaces,
    remediates=True,
)
