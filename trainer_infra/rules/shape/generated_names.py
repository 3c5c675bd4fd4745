"""generated-name: pods name ConfigMaps and Secrets as kustomize calls them in the end."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from trainer_infra.rules import pods
from trainer_infra.rules.placement import lookup
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject, Value
from trainer_infra.rules.value import UNKNOWN, is_mapping
from trainer_infra.rules.world import World

_HASHED: Final = re.compile(r"(.+)-[2456789bcdfghkmt]{10}")
"""What generators put behind a name. Source: kustomize's `api/hasher`."""
_CONFIG_MAP: Final = "ConfigMap"
_SECRET: Final = "Secret"  # noqa: S105  a kind
_KINDS: Final = (_CONFIG_MAP, _SECRET, lookup.CLAIM)
Reference = tuple[Value, str, str]
"""What names an object, the field of it that has the name, and the kind of the object."""


def _references(subject: Subject) -> Iterator[Reference]:
    """Where pods name ConfigMaps, Secrets and claims."""
    for container in pods.containers(subject):
        for variable in container.value["env"].items():
            yield variable.at("valueFrom", "configMapKeyRef"), "name", _CONFIG_MAP
            yield variable.at("valueFrom", "secretKeyRef"), "name", _SECRET
        for source in container.value["envFrom"].items():
            yield source["configMapRef"], "name", _CONFIG_MAP
            yield source["secretRef"], "name", _SECRET
    for pod in pods.pods_of(subject):
        for volume in pod.spec["volumes"].items():
            yield volume["configMap"], "name", _CONFIG_MAP
            yield volume["secret"], "secretName", _SECRET
            yield volume["persistentVolumeClaim"], "claimName", lookup.CLAIM
            for source in volume.at("projected", "sources").items():
                yield source["configMap"], "name", _CONFIG_MAP
                yield source["secret"], "name", _SECRET
        for each in pod.spec["imagePullSecrets"].items():
            yield each, "name", _SECRET


def _check(_place: Value, context: Context[Parameters]) -> Iterator[Finding]:
    world, namespace = context.world, context.subject.namespace
    renamed = world.once(_renamed)
    for reference, field, kind in _references(context.subject) if renamed else ():
        own = reference.raw if is_mapping(reference.raw) else {}
        name = own.get(field)
        if not isinstance(name, str) or own.get("optional") in (True, UNKNOWN):
            continue
        called = renamed.get((kind, name), {})
        near = [called[where] for where in called if "" in (where, namespace) or where == namespace]
        if near and lookup.find_object(world, kind, name, namespace) is None:
            what = f"is called {near[0]} once kustomize has built it, and this field is not changed with it"
            fix = (
                "name the field in a file of `configurations` (nameReference), or set "
                "generatorOptions.disableNameSuffixHash to true and leave prefixes away"
            )
            yield reference[field].finding(what, name, fix)


def _renamed(world: World) -> Mapping[tuple[str, str], Mapping[str, str]]:
    """By kind and the name that it had, what an object is called now in each namespace."""
    found: dict[tuple[str, str], dict[str, str]] = {}
    for (kind, where, name), called in world.renamed.items():
        found.setdefault((kind, name), {})[where] = called
    for kind in _KINDS:
        for each in lookup.all_of(world, kind):
            if hashed := _HASHED.fullmatch(each.name):
                found.setdefault((kind, hashed[1]), {}).setdefault(each.namespace, each.name)
    return found


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
    check=_check,
    looks_around=True,
)
