"""generated-name: pods name ConfigMaps and Secrets as kustomize calls them in the end."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from trainer_infra.rules import pods
from trainer_infra.rules.placement import lookup
from trainer_infra.rules.pods import Pod
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject, Value
from trainer_infra.rules.value import UNKNOWN, is_mapping
from trainer_infra.rules.world import World

_CONFIG_MAP: Final = "ConfigMap"
_SECRET: Final = "Secret"  # noqa: S105  a kind
_CLAIM: Final = "PersistentVolumeClaim"
_HASH: Final = re.compile(r"-[2456789bcdfghkmt]{10}\Z")
"""What generators put behind a name. Source: kustomize's `api/hasher`."""
_OF_VARIABLE: Final = {"configMapKeyRef": _CONFIG_MAP, "secretKeyRef": _SECRET}
_OF_ALL: Final = {"configMapRef": _CONFIG_MAP, "secretRef": _SECRET}
_OF_VOLUME: Final = {
    ("configMap", "name"): _CONFIG_MAP,
    ("secret", "secretName"): _SECRET,
    ("persistentVolumeClaim", "claimName"): _CLAIM,
}
_PROJECTED: Final = {"configMap": _CONFIG_MAP, "secret": _SECRET}


@dataclass(frozen=True, slots=True)
class ObjectName:
    """A field of a pod with the name of an object that it waits for."""

    value: Value
    kind: str


def named_by_pods(subject: Subject) -> Iterator[ObjectName]:
    """Each ConfigMap, Secret and claim without which a pod of the object does not start."""
    for container in pods.containers(subject):
        for variable in container.value["env"].items():
            for field, kind in _OF_VARIABLE.items():
                yield from _named(variable.at("valueFrom", field), "name", kind)
        for source in container.value["envFrom"].items():
            for field, kind in _OF_ALL.items():
                yield from _named(source[field], "name", kind)
    for pod in pods.pods_of(subject):
        yield from _of_volumes(pod)
        for each in pod.spec["imagePullSecrets"].items():
            yield from _named(each, "name", _SECRET)


def _of_volumes(pod: Pod) -> Iterator[ObjectName]:
    for volume in pod.spec["volumes"].items():
        for (field, name), kind in _OF_VOLUME.items():
            yield from _named(volume[field], name, kind)
        for source in volume.at("projected", "sources").items():
            for field, kind in _PROJECTED.items():
                yield from _named(source[field], "name", kind)


def _named(reference: Value, field: str, kind: str) -> Iterator[ObjectName]:
    own = reference.raw if is_mapping(reference.raw) else {}
    is_waited_for = own.get("optional") not in (True, UNKNOWN)
    if isinstance(own.get(field), str) and is_waited_for:
        yield ObjectName(reference[field], kind)


def _check(place: ObjectName, context: Context[Parameters]) -> Iterator[Finding]:
    name, namespace = place.value.text(), context.subject.namespace
    if lookup.find_object(context.world, place.kind, name, namespace) is not None:
        return
    called = _called(context.world, place.kind, name, namespace)
    if called:
        what = (
            f"is called {called} once kustomize has built it, and this field is not changed with it"
        )
        fix = (
            "name the field in a file of `configurations` (nameReference), or set "
            "generatorOptions.disableNameSuffixHash to true and leave prefixes away"
        )
        yield place.value.finding(what, name, fix)


def _called(world: World, kind: str, name: str, namespace: str) -> str:
    """What an object of that name is called now; empty where there is none."""
    for each in lookup.places_near(namespace):
        if (kind, each or "", name) in world.renamed:
            return world.renamed[kind, each or "", name]
    for other in lookup.all_of(world, kind, namespace):
        if other.name.startswith(f"{name}-") and _HASH.fullmatch(other.name[len(name) :]):
            return other.name
    return ""


GENERATED_NAME: Final = Rule(
    id="generated-name",
    title="Pods must use the names that kustomize gives to ConfigMaps and Secrets",
    severity=Severity.HIGH,
    kinds=pods.ALL_WITH_PODS,
    tags=("shape", "kustomize"),
    why=(
        "Kustomize adds hashes and prefixes to names, and changes references only in the kinds that it knows. "
        "In others the old name stays, and the pods wait for an object that never exists."
    ),
    fix="Configure the field as a `nameReference`, or switch the suffix off with `disableNameSuffixHash`.",
    places=named_by_pods,
    check=_check,
    looks_around=True,
)
