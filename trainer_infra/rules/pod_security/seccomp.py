"""seccomp: a container can use only the system calls of a profile."""

from collections.abc import Iterator
from typing import Final

from trainer_infra.rules import pods
from trainer_infra.rules.pod_security import security_context
from trainer_infra.rules.pod_security.where_to_fix import where_to_fix
from trainer_infra.rules.pods import WORKLOADS, PodContainer
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity

_TYPE: Final = ("seccompProfile", "type")
_FIX: Final = "set securityContext.seccompProfile.type to RuntimeDefault"


def _check(place: PodContainer, _context: Context[Parameters]) -> Iterator[Finding]:
    profile = security_context.effective_value(place, *_TYPE)
    if not profile.is_there():
        yield where_to_fix(profile.finding("names no seccomp profile", None, _FIX))


RULE: Final = Rule(
    id="seccomp",
    title="Containers have a seccomp profile",
    severity=Severity.MEDIUM,
    kinds=WORKLOADS,
    tags=("pod-security",),
    frameworks=("pod-security-standards/restricted", "cis-kubernetes/5.7.2", "owasp-k8s/K01"),
    why=(
        "Most ways out of a container use a system call that no training needs. Kubernetes allows "
        "them all where nothing is said."
    ),
    fix="Set `seccompProfile.type` of the pod or the container to `RuntimeDefault`.",
    places=pods.containers,
    check=_check,
)
