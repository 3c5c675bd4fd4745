"""Volume claims: who mounts them, and how often."""

from collections.abc import Iterator
from typing import Final

from trainer_infra import names
from trainer_infra.render.launch_warnings import claims_again
from trainer_infra.rules import pods
from trainer_infra.rules.placement import lookup, nodes
from trainer_infra.rules.pods import Pod
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject, Value
from trainer_infra.rules.value import ABSENT, is_mapping
from trainer_infra.rules.world import World

_OF_ONE: Final = frozenset({"ReadWriteOnce", "ReadWriteOncePod"})
_DISKS: Final = (
    *("awsElasticBlockStore", "azureDisk", "gcePersistentDisk", "cinder", "vsphereVolume"),
    *("iscsi", "fc", "rbd"),
)
"""Volumes that one machine mounts at a time, unless they are read-only."""
_DISK_DRIVERS: Final = (
    *("ebs.csi.aws.com", "pd.csi.storage.gke.io", "disk.csi.azure.com", "cinder.csi.openstack.org"),
    *("csi.vsphere.vmware.com", "kubernetes.io/aws-ebs", "kubernetes.io/gce-pd"),
    *("kubernetes.io/azure-disk", "rancher.io/local-path", "topolvm.io"),
)
"""Provisioners of such volumes."""
_DISK_CLASSES: Final = (
    *("gp2", "gp3", "standard-rwo", "premium-rwo", "managed-csi", "managed-csi-premium"),
    "local-path",
)
"""Storage classes of clouds that have such volumes."""
Pods = tuple[Pod, ...]


def _check_shared(together: Pods, context: Context[Parameters]) -> Iterator[Finding]:
    subject, pools = context.subject, context.world.pools
    makes = any(each["volumeClaimPolicies"].raw is not ABSENT for each in pods.jobsets(subject))
    fields = [(each, each.spec["volumes"], each.spec["resourceClaims"]) for each in together]
    holding = [pod for pod, *own in fields if makes or any(each.raw is not ABSENT for each in own)]
    if not holding or (pools and sum(each.nodes for each in pools) == 1):
        return
    is_runtime = subject.kind in names.RUNTIMES
    every = nodes.total(subject) if is_runtime else sum(map(nodes.count, holding))
    shared: dict[tuple[str, str], list[Pod]] = {}
    for pod in holding if every > 1 else ():
        for each in _shared(pod, context):
            shared.setdefault(each, []).append(pod)
    for (what, fix), members in shared.items():
        most = max(reversed(members), key=nodes.count)
        count, total = nodes.count(most), sum(map(nodes.count, members))
        if is_runtime:
            count = total = every
        if total > 1:
            who, alone = ("the pods", ", or write 1") if total == count else (f"{total} pods", "")
            found = f"is {count}, and {who} share {what}"
            yield nodes.count_place(most, subject).finding(found, None, f"{fix}{alone}")


def _shared(pod: Pod, context: Context[Parameters]) -> Iterator[tuple[str, str]]:
    """What of a pod one machine alone can have, with what to do about it."""
    subject, world, found = context.subject, context.world, list[tuple[str, str, str]]()
    made = map(lookup.claim_templates, pods.jobsets(subject))
    claims = [(name, name, claim) for one in made for name, claim in one]
    for volume in lookup.items(pod.spec["volumes"]):
        name, called = volume["name"].text(), volume.at("persistentVolumeClaim", "claimName").text()
        known = lookup.spec_of(world, lookup.CLAIM, called, subject.namespace)
        claims += [(name, called, known)] if known.raw is not ABSENT else []
        fields = volume.raw if is_mapping(volume.raw) else ()
        disks = [volume[each] for each in fields if each in _DISKS]
        if any(each.is_there() and not each["readOnly"].flag() for each in disks):
            what = f"the disk of volume {name}, which one machine mounts at a time"
            fix = "use storage that several machines mount, or mount it read-only"
            found.append((name, what, fix))
    for name, called, claim in claims:
        why = _one_machine(claim, world)
        if why:
            what = f"the claim {called}, which one machine mounts at a time ({why})"
            fix = "give the claim the access mode ReadWriteMany, of a storage class that has it"
            found.append((name, what, fix))
    mounted = {*lookup.mounted_volumes(pod.spec)} if found else set[str]()
    yield from ((what, fix) for name, what, fix in found if name in mounted)
    for each in pod.spec["resourceClaims"].items():
        name = each["resourceClaimName"].text()
        if name:
            what = f"the ResourceClaim {name}, whose devices are those of one machine"
            yield what, "name a ResourceClaimTemplate, of which each pod gets a claim"


def _one_machine(claim: Value, world: World) -> str:
    """Why one machine alone mounts a claim: its access mode, its volume's, or the class of its disk."""
    volume = lookup.spec_of(world, lookup.VOLUME, claim["volumeName"].text())
    holders = (each["accessModes"] for each in (claim, volume))
    own, others = ([one.text() for one in lookup.items(each)] for each in holders)
    for each in (own, others):
        if each and _OF_ONE.issuperset(each):
            return each[0]
    called = claim["storageClassName"].text()
    known = lookup.find_object(world, lookup.STORAGE_CLASS, called) if called else None
    provisioner = "" if known is None else known.object["provisioner"].text()
    is_disk = provisioner in _DISK_DRIVERS or (known is None and called in _DISK_CLASSES)
    is_written_file = "ReadOnlyMany" not in own and claim["volumeMode"].text() != "Block"
    return f"storage class {called}" if is_disk and is_written_file else ""


def _sharing(subject: Subject) -> Iterator[Pods]:
    """The pods that train, and those of each other job."""
    every = pods.pods_of(subject)
    training = tuple(nodes.training_pods(subject)) if subject.kind in names.WITH_PODS else every
    yield training
    # How many pods there are of a runtime's other jobs, it does not say for sure.
    if subject.kind not in names.RUNTIMES:
        yield from ((each,) for each in every if each not in training)


SHARED_CLAIM: Final = Rule(
    id="shared-claim",
    title="What several nodes share must be usable on several machines",
    severity=Severity.HIGH,
    kinds=pods.COMPUTING,
    tags=("data", "volumes"),
    why=(
        "The kubelet of the second machine cannot mount the volume: its pods wait forever, and "
        "those of the first machine wait for them."
    ),
    fix=(
        "Give the claim the access mode ReadWriteMany, and a storage class that supports it; claim devices "
        "by a ResourceClaimTemplate."
    ),
    places=_sharing,
    check=_check_shared,
    looks_around=True,
)
"""Kubernetes: a volume with access mode ReadWriteOnce is mounted on one machine at a time, one with
ReadWriteOncePod by one pod. A claim of a JobSet's `volumeClaimPolicies` is one for all its pods; one of
an `ephemeral` volume is each pod's own. Disks of clouds are mounted so too, whatever a claim asks for, and
a ResourceClaim has devices of one machine (KEP-4381).
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
    kinds=pods.WORKLOADS,
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
