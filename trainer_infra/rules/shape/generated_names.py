"""generated-name: pods name ConfigMaps and Secrets as kustomize calls them in the end."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from trainer_infra.rules import inner_objects, pods
from trainer_infra.rules.placement import lookup
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject, Value
from trainer_infra.rules.value import UNKNOWN, is_mapping
from trainer_infra.rules.world import World

_HASHED: Final = re.compile(r"(.+)-[2456789bcdfghkmt]{10}")
"""What generators put behind a name. Source: kustomize's `api/hasher`."""
_CONFIG_MAP: Final = "ConfigMap"
_SECRET: Final = "Secret"  # noqa: S105  a kind
_ACCOUNT: Final = "ServiceAccount"
_NAMED: Final = {
    **dict.fromkeys(("configMap", "configMapRef", "configMapKeyRef"), (_CONFIG_MAP, ("name",))),
    **dict.fromkeys(("secretRef", "secretKeyRef", "imagePullSecrets"), (_SECRET, ("name",))),
    "nodePublishSecretRef": (_SECRET, ("name",)),
    "secret": (_SECRET, ("secretName", "name")),
    "persistentVolumeClaim": (lookup.CLAIM, ("claimName",)),
}
"""By field of a pod, at any depth: the kind of the object that it names, and in which field of its own."""


def _references(subject: Subject) -> Iterator[tuple[Value, str, str]]:
    """Where pods name ConfigMaps, Secrets, claims and accounts; in which field, and of which kind they are."""
    for spec in (each.spec for each in pods.pods_of(subject) if is_mapping(each.spec.raw)):
        yield spec, "serviceAccountName", _ACCOUNT
        for path, _ in inner_objects.parts_of(spec.raw):
            key = next((each for each in reversed(path) if isinstance(each, str)), "")
            kind, fields = _NAMED.get(key, ("", ()))
            yield from ((spec.at(*path), field, kind) for field in fields)


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
    for kind in (_CONFIG_MAP, _SECRET):
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
