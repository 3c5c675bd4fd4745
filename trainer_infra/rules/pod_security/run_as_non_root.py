"""run-as-non-root: a container does not run as root."""

from collections.abc import Iterator
from typing import Final

from trainer_infra.rules import pods
from trainer_infra.rules.pod_security import security_context
from trainer_infra.rules.pod_security.where_to_fix import where_to_fix
from trainer_infra.rules.pods import WORKLOADS, PodContainer
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity

_ROOT: Final = 0


def _check(place: PodContainer, _context: Context[Parameters]) -> Iterator[Finding]:
    user = security_context.effective_value(place, "runAsUser")
    if user.number() == _ROOT:
        yield where_to_fix(user.finding("is root", _ROOT, "name another user, such as 1000"))
    non_root = security_context.effective_value(place, "runAsNonRoot")
    if non_root.flag() is not True:
        what = "allows root" if non_root.is_there() else "does not forbid root"
        fix = (
            "set securityContext.runAsNonRoot to true, and runAsUser where the image's own user "
            "is root or a name"
        )
        yield where_to_fix(non_root.finding(what, non_root.flag(), fix))


RULE: Final = Rule(
    id="run-as-non-root",
    title="Containers do not run as root",
    severity=Severity.MEDIUM,
    kinds=WORKLOADS,
    tags=("pod-security", "mpi"),
    frameworks=("pod-security-standards/restricted", "cis-kubernetes/5.2.7", "owasp-k8s/K01"),
    why=(
        "Root in a container is root on the node as soon as it finds a way out, and owns what it "
        "writes into shared volumes. MPI over SSH needs no root: the catalog's runtimes run sshd "
        "as user 1000."
    ),
    fix="Set `runAsNonRoot` to true for the pod or the container, and a `runAsUser` other than 0.",
    places=pods.containers,
    check=_check,
)
