"""capabilities-dropped: a container has no capability but what it asks for."""

from collections.abc import Iterator
from typing import Final

from trainer_infra.rules import pods
from trainer_infra.rules.pod_security import capability, security_context
from trainer_infra.rules.pod_security.where_to_fix import where_to_fix
from trainer_infra.rules.pods import WORKLOADS, PodContainer
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject, Value


class CapabilitiesDropped(Parameters):
    """What capabilities may be added after all are dropped."""

    allow: tuple[str, ...] = ("NET_BIND_SERVICE",)
    """Names without CAP_. What the level baseline does not allow is capabilities-added's to find."""


def _places(subject: Subject) -> Iterator[PodContainer | Value]:
    for container in pods.containers(subject):
        yield container
        yield from security_context.own_value(container, "capabilities", "add").items()


def _check(place: PodContainer | Value, context: Context[CapabilitiesDropped]) -> Iterator[Finding]:
    if isinstance(place, PodContainer):
        yield from _not_dropped(security_context.own_value(place, "capabilities", "drop"))
        return
    name = capability.plain_name(place.text())
    allow = {capability.plain_name(each) for each in context.parameters.allow}
    if name in capability.BASELINE and name not in allow:
        fix = "remove it, and run as a user that needs none, as the catalog's MPI runtimes do"
        yield where_to_fix(place.finding("is a capability beyond the restricted ones", name, fix))


def _not_dropped(drop: Value) -> Iterator[Finding]:
    if drop.is_noted() or any(each.is_noted() for each in drop.items()):
        return
    if capability.ALL not in drop.texts():
        fix = "write drop: [ALL] in securityContext.capabilities of the container"
        yield where_to_fix(drop.finding("does not drop all capabilities", None, fix))


RULE: Final = Rule(
    id="capabilities-dropped",
    title="Containers drop all capabilities",
    severity=Severity.MEDIUM,
    kinds=WORKLOADS,
    tags=("pod-security", "mpi"),
    frameworks=("pod-security-standards/restricted", "cis-kubernetes/5.2.10", "owasp-k8s/K01"),
    why=(
        "A container that drops none keeps a dozen, among them raw sockets and any file's owner. "
        "MPI over SSH works without: the catalog's MPI runtimes run sshd as user 1000. An sshd "
        "that runs as root needs SETUID, SETGID and SYS_CHROOT; put them in `allow` then."
    ),
    fix="Write `drop: [ALL]`, and add nothing but `NET_BIND_SERVICE`.",
    places=_places,
    check=_check,
    parameters=CapabilitiesDropped,
)
