"""What Roles and ClusterRoles allow, and how they are found (rbac.authorization.k8s.io/v1)."""

from collections.abc import Callable, Iterable, Mapping
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


_PARTS: Final[Mapping[str, Callable[[Grant], set[str]]]] = {
    "apiGroups": lambda each: {ALL, each.group},
    "resources": lambda each: {ALL, each.resource, f"{ALL}/{each.resource.partition('/')[2]}"},
    "verbs": lambda each: {ALL, each.verb},
}
"""By field of a rule, what in it gives a grant."""


def given(rule: Value, wanted: Iterable[Grant]) -> tuple[Grant, ...]:
    """Those of the wanted grants that a rule of a role gives, for every object or by name.

    Raises:
        UnseenValue: A part of the rule that decides is not known.
    """
    left = tuple(wanted)
    for key, names in _PARTS.items():
        listed = {each.text() for each in lookup.items(rule[key])} if left else set()
        left = tuple(each for each in left if not listed.isdisjoint(names(each)))
    if not left or not any(lookup.items(rule["resourceNames"])):
        return left
    # What is created has no name as yet; what it is a part of has.
    return tuple(each for each in left if each.verb != "create" or "/" in each.resource)


def find_object(kind: str, name: str, namespace: str, world: World) -> Subject | None:
    """The object of that name; None where there is none."""
    for where in lookup.places_near(namespace):
        for each in (*world.named(kind, name, where), *world.named(kind, "", where)):
            if known(each).name == name and namespace in ("", each.namespace):
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
