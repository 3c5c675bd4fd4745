"""Secrets by which volumes are mounted: of the claim's namespace, or an operator's, and of no other team's."""

from collections.abc import Iterator
from typing import Final

from trainer_infra.rules.pod_security import role_holders
from trainer_infra.rules.rule import (
    Context,
    Finding,
    Parameters,
    Rule,
    Severity,
    Subject,
    Value,
    World,
)

_VOLUME: Final = "PersistentVolume"
_CLASS: Final = "StorageClass"
_OF_CSI: Final = (
    *("nodePublishSecretRef", "nodeStageSecretRef", "nodeExpandSecretRef"),
    *("controllerPublishSecretRef", "controllerExpandSecretRef"),
)
_OF_OTHERS: Final = ("cephfs", "rbd", "flexVolume", "iscsi", "scaleIO")
_PARAMETER: Final = "-secret-namespace"


class VolumeSecrets(Parameters):
    """Whose Secrets may mount volumes."""

    operators: tuple[str, ...] = role_holders.OPERATORS
    """Namespaces, as patterns, of the cluster's own programs and operators."""


def _places(subject: Subject) -> Iterator[Value]:
    """Namespaces of Secrets."""
    spec = subject.object["spec"]
    if subject.kind == _CLASS:
        for key, value in subject.object["parameters"].fields():
            if key.endswith(_PARAMETER):
                yield value
        return
    yield from (spec.at("csi", each, "namespace") for each in _OF_CSI)
    yield from (spec.at(each, "secretRef", "namespace") for each in _OF_OTHERS)
    yield spec.at("azureFile", "secretNamespace")


def _check(place: Value, context: Context[VolumeSecrets]) -> Iterator[Finding]:
    namespace, operators = place.text(), context.parameters.operators
    # A class may take the namespace of each claim: `${pvc.namespace}`.
    if not namespace or "$" in namespace or role_holders.is_in(namespace, operators):
        return
    subject = context.subject
    claimed = {_claimed_in(subject, context.world)} if subject.kind == _VOLUME else {"any"}
    if claimed.isdisjoint({"", namespace}):
        whose = f"for a claim of {claimed.pop()}" if subject.kind == _VOLUME else "for every claim"
        what = f"is the namespace of a Secret that mounts the volume {whose}"
        yield place.finding(what, namespace, "use a Secret of the claim's own namespace")


def _claimed_in(volume: Subject, world: World) -> str:
    """The namespace of the claim that has a volume; empty where it is not known."""
    if named := volume.object.at("spec", "claimRef", "namespace").text():
        return named
    claims = world.of_kind("PersistentVolumeClaim")
    having = (each for each in claims if each.object.at("spec", "volumeName").raw == volume.name)
    return next((each.namespace for each in having if volume.name), "")


RULE: Final = Rule(
    id="volume-secrets",
    title="Volumes must be mounted with Secrets of their own namespace",
    severity=Severity.MEDIUM,
    kinds=frozenset({_VOLUME, _CLASS}),
    tags=("pod-security", "volumes", "secrets"),
    frameworks=("owasp-k8s/K08",),
    why=(
        "Pods that claim the volume use the keys of another team, and see its data, though they "
        "cannot read the Secret."
    ),
    fix="Use a Secret of the claim's namespace; in a StorageClass, `${pvc.namespace}`.",
    places=_places,
    check=_check,
    looks_around=True,
    parameters=VolumeSecrets,
)
