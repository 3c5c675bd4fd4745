"""What Roles allow a service account to do in a namespace (rbac.authorization.k8s.io/v1)."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Final

from trainer_infra.rules.subject import Subject
from trainer_infra.rules.value import Value
from trainer_infra.rules.world import World

_BINDINGS: Final = ("RoleBinding", "ClusterRoleBinding")


@dataclass(frozen=True, slots=True)
class Grant:
    """A verb on a resource."""

    verb: str
    """For example `create`."""
    resource: str
    """Its plural, `services`."""
    group: str
    """Its API group; empty for the core."""


def missing(
    account: str, namespace: str, wanted: Collection[Grant], world: World
) -> tuple[Grant, ...]:
    """Those that no binding gives the account; none where there are no bindings at all.

    Raises:
        Unseen: A binding or a role is not known.
    """
    if not any(any(world.of_kind(kind)) for kind in _BINDINGS):
        return ()
    rules = [each for role in _roles(account, namespace, world) for each in _items(role["rules"])]
    return tuple(each for each in wanted if not any(_gives(rule, each) for rule in rules))


def find(kind: str, name: str, namespace: str, world: World) -> Subject | None:
    """The object of that name; None where there is none.

    Raises:
        Unseen: It may be one whose name is not known.
    """
    found = world.get(kind, name, namespace)
    return found or next(
        (each for each in _named(world, kind, namespace) if each.name == name), None
    )


def _roles(account: str, namespace: str, world: World) -> Iterator[Value]:
    """The roles that are bound to it."""
    of_namespace, of_cluster = _BINDINGS
    bindings = (*_named(world, of_namespace, namespace), *_named(world, of_cluster))
    for each in bindings:
        if any(_is(one, account, namespace) for one in _items(each.object["subjects"])):
            role = _role(each, namespace, world)
            if role is not None:
                yield role.object


def _role(binding: Subject, namespace: str, world: World) -> Subject | None:
    reference = binding.object["roleRef"]
    kind, name = reference["kind"].text(), reference["name"].text()
    return find(kind, name, namespace if kind == "Role" else "", world)


def _named(world: World, kind: str, namespace: str = "") -> Iterator[Subject]:
    """The objects of a kind; of one namespace where that is given."""
    for each in world.of_kind(kind):
        metadata = each.object["metadata"]
        where = metadata["namespace"].text()
        if metadata["name"].text() and namespace in ("", where):
            yield each


def _is(subject: Value, account: str, namespace: str) -> bool:
    """Whether a binding's subject is the account, or a group that every account is in."""
    kind, name = subject["kind"].text(), subject["name"].text()
    if kind == "ServiceAccount":
        return name == account and subject["namespace"].text() in (namespace, "")
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")
    return kind == "Group" and name in (*groups, "system:authenticated")


def _gives(rule: Value, wanted: Grant) -> bool:
    parts = (("apiGroups", wanted.group), ("resources", wanted.resource), ("verbs", wanted.verb))
    if rule["resourceNames"].is_there() and wanted.verb == "create":
        return False
    return all({"*", part} & {each.text() for each in _items(rule[key])} for key, part in parts)


def _items(value: Value) -> Iterator[Value]:
    value.is_there()
    yield from value.items()
