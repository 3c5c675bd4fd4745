"""privileged: a container is no administrator of its node."""

from collections.abc import Iterator
from typing import Final

from trainer_infra.rules import pods
from trainer_infra.rules.pod_security import security_context
from trainer_infra.rules.pods import WORKLOADS, PodContainer
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity


def _check(place: PodContainer, _context: Context[Parameters]) -> Iterator[Finding]:
    privileged = security_context.own_value(place, "privileged")
    if privileged.flag() is True:
        fix = "set it to false; GPUs and RDMA devices come as resources, such as nvidia.com/gpu"
        patch = privileged.set_to(value=False)
        yield privileged.finding("hands the node over to the container", True, fix, patch)


RULE: Final = Rule(
    id="privileged",
    title="Containers are not privileged",
    severity=Severity.CRITICAL,
    kinds=WORKLOADS,
    tags=("pod-security",),
    frameworks=("pod-security-standards/baseline", "cis-kubernetes/5.2.2", "owasp-k8s/K01"),
    why=(
        "A privileged container is root on its node: it reads the secrets of every pod there, and "
        "can go on from there to the whole cluster."
    ),
    fix="Set `privileged` to false, and ask for devices as resources.",
    places=pods.containers,
    check=_check,
    remediates=True,
)
