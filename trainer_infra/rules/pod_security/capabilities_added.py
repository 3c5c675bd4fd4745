"""capabilities-added: a container adds no capability that reaches beyond it."""

from collections.abc import Iterator
from typing import Final

from trainer_infra.rules import pods
from trainer_infra.rules.pod_security import capability, security_context
from trainer_infra.rules.pod_templates import WORKLOADS
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject, Value


class CapabilitiesAdded(Parameters):
    """What capabilities may be added."""

    allow: tuple[str, ...] = capability.BASELINE
    """Names without CAP_. The level baseline's; RDMA on some clusters needs IPC_LOCK besides."""


def _places(subject: Subject) -> Iterator[Value]:
    for container in pods.containers(subject):
        yield from security_context.own_value(container, "capabilities", "add").items()


def _check(place: Value, context: Context[CapabilitiesAdded]) -> Iterator[Finding]:
    allow = {capability.plain_name(each) for each in context.parameters.allow}
    name = capability.plain_name(place.text())
    if name in allow and name != place.text():
        fix = f"write {name}"
        yield place.finding(
            "is not how Kubernetes writes it", place.text(), fix, place.set_to(name)
        )
    elif place.is_there() and name not in allow:
        fix = "remove it; what only some pods need, such as IPC_LOCK for RDMA, is put in `allow`"
        yield place.finding("is a capability that reaches beyond the container", place.text(), fix)


RULE: Final = Rule(
    id="capabilities-added",
    title="Containers add only harmless capabilities",
    severity=Severity.HIGH,
    kinds=WORKLOADS,
    tags=("pod-security", "mpi"),
    frameworks=("pod-security-standards/baseline", "cis-kubernetes/5.2.9", "owasp-k8s/K01"),
    why=(
        "With SYS_ADMIN, SYS_PTRACE, NET_ADMIN and their like a container reaches its node and its "
        "neighbours. What an sshd of MPI needs when it runs as root is allowed: SETUID, SETGID, "
        "SYS_CHROOT, AUDIT_WRITE."
    ),
    fix="Remove the capability, or put it in `allow` where the hardware needs it.",
    places=_places,
    check=_check,
    parameters=CapabilitiesAdded,
)
