"""host-process: no container is a process of its Windows node."""

from collections.abc import Iterator
from typing import Final

from trainer_infra.rules.pod_security import security_context
from trainer_infra.rules.pod_templates import WORKLOADS
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Value


def _check(place: Value, _context: Context[Parameters]) -> Iterator[Finding]:
    process = place.at("windowsOptions", "hostProcess")
    if process.flag() is True:
        patch = process.set_to(value=False)
        yield process.finding("runs as a process of the node", True, "set it to false", patch)


RULE: Final = Rule(
    id="host-process",
    title="Containers are no processes of a Windows node",
    severity=Severity.CRITICAL,
    kinds=WORKLOADS,
    tags=("pod-security",),
    frameworks=("pod-security-standards/baseline", "cis-kubernetes/5.2.11", "owasp-k8s/K01"),
    why="A HostProcess container has the node's files, network and rights, as a privileged one on Linux.",
    fix="Set `windowsOptions.hostProcess` to false.",
    places=security_context.security_contexts,
    check=_check,
    remediates=True,
)
