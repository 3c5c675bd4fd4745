"""Linux capabilities: what a container adds, and that it drops the others."""

from collections.abc import Iterator
from typing import Final

from trainer_infra.rules import pods
from trainer_infra.rules.finding import where_to_fix
from trainer_infra.rules.pod_security import security_context
from trainer_infra.rules.pods import PodContainer
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject, Value

BASELINE: Final = (
    *("AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD"),
    *("NET_BIND_SERVICE", "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"),
)
"""What the Pod Security Standards' level baseline lets a container add."""
ALL: Final = "ALL"
"""Stands for every capability."""


def plain_name(name: str) -> str:
    """A capability's name as Kubernetes writes it: without CAP_, in capitals."""
    return name.upper().removeprefix("CAP_")


class CapabilitiesAdded(Parameters):
    """What capabilities may be added."""

    allow: tuple[str, ...] = BASELINE
    """Names without CAP_. The level baseline's; RDMA on some clusters needs IPC_LOCK besides."""


def _places_of_added(subject: Subject) -> Iterator[Value]:
    for container in pods.containers(subject):
        yield from security_context.own_value(container, "capabilities", "add").items()


def _check_added(place: Value, context: Context[CapabilitiesAdded]) -> Iterator[Finding]:
    allow = {plain_name(each) for each in context.parameters.allow}
    name = plain_name(place.text())
    if name in allow and name != place.text():
        what = "is not how Kubernetes writes it"
        yield place.finding(what, place.text(), f"write {name}", place.set_to(name))
    elif place.is_there() and name not in allow:
        fix = "remove it; what only some pods need, such as IPC_LOCK for RDMA, is put in `allow`"
        yield place.finding("is a capability that reaches beyond the container", place.text(), fix)


CAPABILITIES_ADDED: Final = Rule(
    id="capabilities-added",
    title="Containers may add only harmless capabilities",
    severity=Severity.HIGH,
    kinds=pods.ALL_WITH_PODS,
    tags=("pod-security", "mpi"),
    frameworks=("pod-security-standards/baseline", "cis-kubernetes/5.2.9", "owasp-k8s/K01"),
    why=(
        "With SYS_ADMIN, SYS_PTRACE, NET_ADMIN and the like a container can reach its node and its "
        "neighbors. The capabilities that MPI's sshd needs when it runs as root are allowed: "
        "SETUID, SETGID, SYS_CHROOT, AUDIT_WRITE."
    ),
    fix="Remove the capability, or put it in `allow` if the hardware needs it.",
    places=_places_of_added,
    check=_check_added,
    parameters=CapabilitiesAdded,
)


class CapabilitiesDropped(Parameters):
    """What capabilities may be added after all are dropped."""

    allow: tuple[str, ...] = ("NET_BIND_SERVICE",)
    """Names without CAP_. What the level baseline does not allow is capabilities-added's to find."""


def _places_of_dropped(subject: Subject) -> Iterator[PodContainer | Value]:
    for container in pods.linux_containers(subject):
        yield container
        yield from security_context.own_value(container, "capabilities", "add").items()


def _check_dropped(
    place: PodContainer | Value, context: Context[CapabilitiesDropped]
) -> Iterator[Finding]:
    if isinstance(place, PodContainer):
        yield from _not_dropped(security_context.own_value(place, "capabilities", "drop"))
        return
    name = plain_name(place.text())
    allow = {plain_name(each) for each in context.parameters.allow}
    if name in BASELINE and name not in allow:
        fix = "remove it, and run as a user that needs none, as the catalog's MPI runtimes do"
        yield where_to_fix(place.finding("is a capability beyond the restricted ones", name, fix))


def _not_dropped(drop: Value) -> Iterator[Finding]:
    if drop.is_noted() or any(each.is_noted() for each in drop.items()):
        return
    if ALL not in drop.texts():
        fix = "write drop: [ALL] in securityContext.capabilities of the container"
        yield where_to_fix(drop.finding("does not drop all capabilities", None, fix))


CAPABILITIES_DROPPED: Final = Rule(
    id="capabilities-dropped",
    title="Containers must drop all capabilities",
    severity=Severity.MEDIUM,
    kinds=pods.ALL_WITH_PODS,
    tags=("pod-security", "mpi"),
    frameworks=("pod-security-standards/restricted", "cis-kubernetes/5.2.10", "owasp-k8s/K01"),
    why=(
        "A container that drops none keeps a dozen, among them raw sockets and changing the owner "
        "of any file. MPI over SSH works without them: the catalog's MPI runtimes run sshd as user "
        "1000. An sshd that runs as root needs SETUID, SETGID and SYS_CHROOT; put them in `allow` "
        "then."
    ),
    fix="Write `drop: [ALL]`, and add nothing but `NET_BIND_SERVICE`.",
    places=_places_of_dropped,
    check=_check_dropped,
    parameters=CapabilitiesDropped,
)
