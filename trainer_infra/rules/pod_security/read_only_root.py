"""read-only-root: a container cannot change the files of its image."""

from collections.abc import Iterator
from typing import Final

from trainer_infra.rules import pods
from trainer_infra.rules.pod_security import security_context
from trainer_infra.rules.pod_security.where_to_fix import where_to_fix
from trainer_infra.rules.pods import WORKLOADS, PodContainer
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity


def _check(place: PodContainer, _context: Context[Parameters]) -> Iterator[Finding]:
    read_only = security_context.own_value(place, "readOnlyRootFilesystem")
    if read_only.flag() is not True:
        fix = (
            "set securityContext.readOnlyRootFilesystem of the container to true, and mount "
            "emptyDirs where it writes, such as /tmp"
        )
        what = "lets programs change the image's files"
        yield where_to_fix(read_only.finding(what, read_only.flag(), fix))


RULE: Final = Rule(
    id="read-only-root",
    title="Containers cannot change their image's files",
    severity=Severity.LOW,
    kinds=WORKLOADS,
    tags=("pod-security",),
    why=(
        "What a run writes beside its volumes fills the node's disk and is lost at a restart; and "
        "an attacker can put programs there."
    ),
    fix="Set `readOnlyRootFilesystem` to true, and mount an emptyDir where the program writes.",
    places=pods.containers,
    check=_check,
)
