"""What Roles and ClusterRoles allow, and how they are found (rbac.authorization.k8s.io/v1)."""

from dataclasses import dataclass
from typing import Final

from trainer_infra.rules.placement import lookup
from trainer_infra.rules.rule import Subject, World
from trainer_infra.rules.value import Value

ALL: Final = "*"
"""Stands for every verb, resource or group."""


@dataclass(frozen=True, slots=True)
class Grant:
    """A verb on a resource."""

    verb: str
    resource: str
    """Its plural, `services`."""
    group: str
    """Its API group; empty for the core."""


def gives(rule: Value, wanted: Grant) -> bool:
    """Whether a rule gives it, for every object or by name.

    Raises:
        UnseenValue: A part of the rule is not known.
    """
    _, slash, part = wanted.resource.partition("/")
    parts = (
        ("apiGroups", {wanted.group}),
        ("resources", {wanted.resource, *((f"{ALL}/{part}",) if slash else ())}),
        ("verbs", {wanted.verb}),
    )
    if rule["resourceNames"].is_there() and wanted.verb == "create":
        return False
    lists = ((named, {each.text() for each in lookup.items(rule[key])}) for key, named in parts)
    return all({ALL, *named} & listed for named, listed in lists)


def find_object(kind: str, name: str, namespace: str, world: World) -> Subject | None:
    """The object of that name; None where there is none."""
    for where in lookup.places_near(namespace):
        for called in (name, ""):
            for each in map(known, world.named(kind, called, where)):
                if each.name == name and namespace in ("", each.namespace):
                    return each
    return None


def known(subject: Subject) -> Subject:
    """The object, where it is known how it is called.

    Raises:
        UnseenValue: It is not.
    """
    for each in ("namespace", "name"):
        subject.object["metadata"][each].is_there()
    return subject
