"""seccomp-unconfined: no container may use every system call."""

from collections.abc import Iterator
from typing import Final

from trainer_infra.rules.pod_security import security_context
from trainer_infra.rules.pod_templates import WORKLOADS
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Value

_CONFINED: Final = ("RuntimeDefault", "Localhost")
"""Types of profiles that both levels of the Pod Security Standards allow."""


def _check(place: Value, _context: Context[Parameters]) -> Iterator[Finding]:
    profile = place.at("seccompProfile", "type")
    if profile.is_there() and profile.text() not in _CONFINED:
        fix = "set it to RuntimeDefault"
        patch = profile.set_to("RuntimeDefault")
        yield profile.finding("allows every system call", profile.text() or None, fix, patch)


RULE: Final = Rule(
    id="seccomp-unconfined",
    title="No seccomp profile is switched off",
    severity=Severity.HIGH,
    kinds=WORKLOADS,
    tags=("pod-security",),
    frameworks=("pod-security-standards/baseline", "cis-kubernetes/5.7.2", "owasp-k8s/K01"),
    why=(
        "An unconfined container can use system calls that no training needs and most ways out of "
        "a container do. A namespace of the level baseline admits no such pod."
    ),
    fix="Set `seccompProfile.type` to `RuntimeDefault`, or name a profile of the node with `Localhost`.",
    places=security_context.security_contexts,
    check=_check,
    remediates=True,
)
