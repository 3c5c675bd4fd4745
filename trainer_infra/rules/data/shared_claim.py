"""shared-claim: a claim that several nodes mount is one that several machines can mount.

Kubernetes: a volume with access mode ReadWriteOnce is mounted on one machine at a time, one with
ReadWriteOncePod by one pod. A claim of a JobSet's `volumeClaimPolicies` is one for all its pods.
"""

from collections.abc import Iterator
from typing import Final

from trainer_infra import names
from trainer_infra.rules import pods
from trainer_infra.rules.placement import lookup, nodes
from trainer_infra.rules.pods import Pod
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Value

_OF_ONE: Final = frozenset({"ReadWriteOnce", "ReadWriteOncePod"})


def _check(pod: Pod, context: Context[Parameters]) -> Iterator[Finding]:
    subject = context.subject
    for name, written in _claims(pod, context):
        modes = [each.text() for each in lookup.items(written)]
        count = nodes.total(subject) if subject.kind in names.RUNTIMES else nodes.count(pod)
        if not modes or not _OF_ONE.issuperset(modes) or count <= 1 or _is_one_machine(context):
            continue
        what = f"is {count}, and the pods share the claim {name}, which one machine mounts at a time ({modes[0]})"
        fix = "give the claim the access mode ReadWriteMany, of a storage class that has it, or write 1"
        yield nodes.count_place(pod, subject).finding(what, None, fix)


def _is_one_machine(context: Context[Parameters]) -> bool:
    pools = context.world.pools
    return bool(pools) and sum(each.nodes for each in pools) == 1


def _claims(pod: Pod, context: Context[Parameters]) -> Iterator[tuple[str, Value]]:
    """Names and access modes of the claims that its containers mount: the JobSet's, and others that are known."""
    mounted = {
        mount["name"].text()
        for key in ("initContainers", "containers")
        for container in lookup.items(pod.spec[key])
        for mount in lookup.items(container["volumeMounts"])
    }
    for spec in pods.jobsets(context.subject):
        for policy in lookup.items(spec["volumeClaimPolicies"]):
            for template in lookup.items(policy["templates"]):
                name = template.at("metadata", "name").text()
                if name in mounted:
                    yield name, template.at("spec", "accessModes")
    for volume in lookup.items(pod.spec["volumes"]):
        name = volume.at("persistentVolumeClaim", "claimName").text()
        known = context.world.get("PersistentVolumeClaim", name, context.subject.namespace)
        if known is not None and volume["name"].text() in mounted:
            yield name, known.object.at("spec", "accessModes")


RULE: Final = Rule(
    id="shared-claim",
    title="Claims of several nodes can be mounted by several machines",
    severity=Severity.HIGH,
    kinds=names.WITH_PODS,
    tags=("data", "volumes"),
    why=(
        "The kubelet of the second machine does not mount the volume: its pods wait for ever, "
        "and those of the first machine wait for them."
    ),
    fix="Give the claim the access mode ReadWriteMany, and a storage class that has it.",
    places=nodes.training_pods,
    check=_check,
    looks_around=True,
)
