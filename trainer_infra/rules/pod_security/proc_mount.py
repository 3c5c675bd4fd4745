"""proc-mount: a container sees only its own part of /proc."""

from collections.abc import Iterator
from typing import Final

from trainer_infra.rules import pods
from trainer_infra.rules.pod_security import security_context
from trainer_infra.rules.pods import WORKLOADS, PodContainer
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity

_MASKED: Final = "Default"


def _check(place: PodContainer, _context: Context[Parameters]) -> Iterator[Finding]:
    mount = security_context.own_value(place, "procMount")
    if mount.text() not in ("", _MASKED):
        patch = mount.set_to(_MASKED)
        yield mount.finding("shows the container all of /proc", mount.text(), "leave it out", patch)


RULE: Final = Rule(
    id="proc-mount",
    title="Containers see their own part of /proc",
    severity=Severity.HIGH,
    kinds=WORKLOADS,
    tags=("pod-security",),
    frameworks=("pod-security-standards/baseline", "owasp-k8s/K01"),
    why=(
        "Through an unmasked /proc a container reads and changes settings of its node's kernel. A "
        "namespace of the level baseline admits no such pod."
    ),
    fix="Leave out `procMount`.",
    places=pods.containers,
    check=_check,
    remediates=True,
)
