"""privilege-escalation: a process gets no more rights than the one that started it."""

from collections.abc import Iterator
from typing import Final

from trainer_infra.rules import pods
from trainer_infra.rules.finding import Change
from trainer_infra.rules.pod_security import security_context
from trainer_infra.rules.pod_security.where_to_fix import where_to_fix
from trainer_infra.rules.pods import WORKLOADS, PodContainer
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Value

_EXCLUDES: Final = "CAP_SYS_ADMIN"
"""The API server refuses it, spelled like this, and privileged, beside a false one."""


def _check(place: PodContainer, _context: Context[Parameters]) -> Iterator[Finding]:
    allowed = security_context.own_value(place, "allowPrivilegeEscalation")
    if allowed.flag() is False:
        return
    what = "does not keep programs from gaining rights"
    fix = "set securityContext.allowPrivilegeEscalation of the container to false"
    patch = _patch(place, allowed)
    yield where_to_fix(allowed.finding(what, allowed.flag(), fix, patch))


def _patch(place: PodContainer, allowed: Value) -> tuple[Change, ...]:
    added = security_context.own_value(place, "capabilities", "add").texts()
    if security_context.own_value(place, "privileged").raw is True or _EXCLUDES in added:
        return ()
    return allowed.set_to(value=False)


RULE: Final = Rule(
    id="privilege-escalation",
    title="Containers forbid privilege escalation",
    severity=Severity.MEDIUM,
    kinds=WORKLOADS,
    tags=("pod-security",),
    frameworks=("pod-security-standards/restricted", "cis-kubernetes/5.2.6", "owasp-k8s/K01"),
    why=(
        "A program with the setuid bit makes its user root; training code, and what it installs, "
        "needs none. Without the field it is allowed."
    ),
    fix="Set `allowPrivilegeEscalation` of the container to false.",
    places=pods.containers,
    check=_check,
    remediates=True,
)
