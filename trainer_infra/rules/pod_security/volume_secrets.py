"""Secrets by which volumes are mounted: of the claim's namespace, or an operator's, and of no other team's."""

from collections.abc import Iterator
from typing import Final

from trainer_infra.rules.pod_security import role_holders
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject, Value
from trainer_infra.rules.world import World

_VOLUME: Final = "PersistentVolume"


class VolumeSecrets(Parameters):
    """Whose Secrets may mount volumes."""

    operators: tuple[str, ...] = role_holders.OPERATORS
    """Namespaces, as patterns, of the cluster's own programs and operators."""


def _places(subject: Subject) -> Iterator[Value]:
    """Namespaces of Secrets: of a class in its parameters; of a volume in its source, and in attributes of that."""
    yield from _named(subject.object["parameters"])
    for _, source in subject.object["spec"].fields():
        yield from _named(source)
        yield from _named(source["volumeAttributes"])


def _named(fields: Value) -> Iterator[Value]:
    """Drivers write the keys as they like: `secretNamespace`, `csi.storage.k8s.io/provisioner-secret-namespace`."""
    for key, value in fields.fields():
        if key.endswith("ecretRef"):
            yield value["namespace"]
        elif key.lower().replace("-", "").endswith("secretnamespace"):
            yield value


def _check(place: Value, context: Context[VolumeSecrets]) -> Iterator[Finding]:
    namespace, subject = place.text(), context.subject
    # A class may take the namespace of each claim: `${pvc.namespace}`.
    is_open = "$" in namespace or role_holders.is_in(namespace, context.parameters.operators)
    if not namespace or is_open:
        return
    is_volume = subject.kind == _VOLUME
    claimed = _claimed_in(subject, context.world) if is_volume else "*"
    if claimed not in {"", namespace}:
        whose = f"for a claim of {claimed}" if is_volume else "for every claim"
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
    kinds=frozenset((_VOLUME, "StorageClass", "VolumeSnapshotClass")),
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
