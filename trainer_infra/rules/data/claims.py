"""Volume claims: who mounts them, and how often."""

from collections.abc import Iterator
from typing import Final

from trainer_infra import names
from trainer_infra.render.launch_warnings import claims_again
from trainer_infra.rules import pods
from trainer_infra.rules.placement import lookup, nodes
from trainer_infra.rules.pods import Pod
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Value

_OF_ONE: Final = frozenset({"ReadWriteOnce", "ReadWriteOncePod"})


def _check_shared(pod: Pod, context: Context[Parameters]) -> Iterator[Finding]:
    subject, pools = context.subject, context.world.pools
    is_one_machine = bool(pools) and sum(each.nodes for each in pools) == 1
    for name, written in _claims(pod, context):
        modes = [each.text() for each in lookup.items(written)]
        count = nodes.total(subject) if subject.kind in names.RUNTIMES else nodes.count(pod)
        if not modes or not _OF_ONE.issuperset(modes) or count <= 1 or is_one_machine:
            continue
        what = f"is {count}, and the pods share the claim {name}, which one machine mounts at a time ({modes[0]})"
        fix = "give the claim the access mode ReadWriteMany, of a storage class that has it, or write 1"
        yield nodes.count_place(pod, subject).finding(what, None, fix)


def _claims(pod: Pod, context: Context[Parameters]) -> Iterator[tuple[str, Value]]:
    """Names and access modes of the claims that its containers mount: the JobSet's, and others that are known."""
    mounted = {*lookup.mounted_volumes(pod.spec)}
    for spec in pods.jobsets(context.subject):
        for name, claim in lookup.claim_templates(spec):
            if name in mounted:
                yield name, claim["accessModes"]
    for volume in lookup.items(pod.spec["volumes"]):
        name = volume.at("persistentVolumeClaim", "claimName").text()
        known = context.world.get("PersistentVolumeClaim", name, context.subject.namespace)
        if known is not None and volume["name"].text() in mounted:
            yield name, known.object.at("spec", "accessModes")


SHARED_CLAIM: Final = Rule(
    id="shared-claim",
    title="A claim of several nodes must allow several machines to mount it",
    severity=Severity.HIGH,
    kinds=names.WITH_PODS,
    tags=("data", "volumes"),
    why=(
        "The kubelet of the second machine cannot mount the volume: its pods wait forever, and "
        "those of the first machine wait for them."
    ),
    fix="Give the claim the access mode ReadWriteMany, and a storage class that supports it.",
    places=nodes.training_pods,
    check=_check_shared,
    looks_around=True,
)
"""Kubernetes: a volume with access mode ReadWriteOnce is mounted on one machine at a time, one with
ReadWriteOncePod by one pod. A claim of a JobSet's `volumeClaimPolicies` is one for all its pods.
"""


def _check_volumes(pod: Pod, _context: Context[Parameters]) -> Iterator[Finding]:
    volumes = tuple(lookup.items(pod.spec["volumes"]))
    claims = [each.at("persistentVolumeClaim", "claimName") for each in volumes]
    pairs = ((one.text(), each["name"].text()) for one, each in zip(claims, volumes, strict=True))
    for index, first in claims_again(pairs):
        what = f"is the claim of volume {first!r} too, and the pod never starts"
        fix = f"mount volume {first!r} twice, with a subPath each"
        yield claims[index].finding(what, claims[index].raw, fix)


CLAIM_VOLUMES: Final = Rule(
    id="claim-volumes",
    title="A pod must use each volume claim through one volume",
    severity=Severity.HIGH,
    kinds=names.WITH_PODS,
    tags=("data", "volumes"),
    why=(
        "The kubelet waits for both volumes and mounts the claim for one of them: the pod stays in "
        "ContainerCreating, and no event says why."
    ),
    fix="Keep one volume for the claim, and mount it at each path, with `subPath` for a folder of it.",
    places=pods.pods_of,
    check=_check_volumes,
)
"""The kubelet knows a mounted volume by the PersistentVolume of its claim, and waits for every name in the pod's
`volumes`: the second name of a claim never comes, and the pod stays in ContainerCreating (tried with Kubernetes 1.34).
"""
