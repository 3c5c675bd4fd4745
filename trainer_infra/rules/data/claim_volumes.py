"""claim-volumes: a pod has each volume claim by one volume.

The kubelet knows a mounted volume by the PersistentVolume of its claim, and waits for every name in the pod's
`volumes`: the second name of a claim never comes, and the pod stays in ContainerCreating (tried with Kubernetes 1.34).
"""

from collections.abc import Iterator
from typing import Final

from trainer_infra import names
from trainer_infra.rules import pods
from trainer_infra.rules.placement import lookup
from trainer_infra.rules.pods import Pod
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity


def _check(pod: Pod, _context: Context[Parameters]) -> Iterator[Finding]:
    first: dict[str, str] = {}
    for volume in lookup.items(pod.spec["volumes"]):
        claim, name = volume.at("persistentVolumeClaim", "claimName"), volume["name"].text()
        if not claim.text():
            continue
        if claim.text() in first:
            what = f"is the claim of volume {first[claim.text()]!r} too, and the pod never starts"
            fix = f"mount volume {first[claim.text()]!r} twice, with a subPath each"
            yield claim.finding(what, claim.raw, fix)
        first.setdefault(claim.text(), name)


RULE: Final = Rule(
    id="claim-volumes",
    title="A pod has each volume claim by one volume",
    severity=Severity.HIGH,
    kinds=names.WITH_PODS,
    tags=("data", "volumes"),
    why=(
        "The kubelet waits for both volumes and mounts the claim for one of them: the pod stays in "
        "ContainerCreating, without an event that says so."
    ),
    fix="Keep one volume for the claim, and mount it at each place, with `subPath` for a folder of it.",
    places=pods.pods_of,
    check=_check,
)
