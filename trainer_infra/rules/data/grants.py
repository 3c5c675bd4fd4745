"""What Roles allow a service account to do in a namespace (rbac.authorization.k8s.io/v1)."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from trainer_infra.rules.placement import lookup
from trainer_infra.rules.rule import Subject, Value, World

ACCOUNT: Final = "ServiceAccount"
_GROUP: Final = "Group"
_EVERYBODY: Final = "system:authenticated"
_BINDINGS: Final = ("RoleBinding", "ClusterRoleBinding")

Member = tuple[str, str, str]
"""Kind, name and namespace of whom a binding is for; that of a group is empty."""


@dataclass(frozen=True, slots=True)
class Grant:
    """A verb on a resource."""

    verb: str
    """For example `create`."""
    resource: str
    """Its plural, `services`."""
    group: str
    """Its API group; empty for the core."""


def missing_grants(
    account: str, namespace: str, wanted: Collection[Grant], world: World
) -> tuple[Grant, ...]:
    """Those that no binding gives the account; none where there are no bindings at all.

    Raises:
        UnseenValue: A binding or a role is not known.
    """
    if not any(world.of_kind(kind) for kind in _BINDINGS):
        return ()
    rules = [
        each for role in _roles(account, namespace, world) for each in lookup.items(role["rules"])
    ]
    return tuple(each for each in wanted if not any(_gives(rule, each) for rule in rules))


def find_object(kind: str, name: str, namespace: str, world: World) -> Subject | None:
    """The object of that name; None where there is none.

    Raises:
        UnseenValue: It may be one whose name is not known.
    """
    for where in lookup.places_near(namespace):
        for called in (name, ""):
            for each in map(_known, world.named(kind, called, where)):
                if each.name == name and namespace in ("", each.namespace):
                    return each
    return None


def _roles(account: str, namespace: str, world: World) -> Iterator[Value]:
    """The roles that are bound to it, or to a group that every account is in."""
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", _EVERYBODY)
    members = [(ACCOUNT, account, where) for where in (namespace, "")]
    members += [(_GROUP, each, "") for each in groups]
    for kind, where in zip(_BINDINGS, (namespace, ""), strict=True):
        bound = world.once(_bound, kind, where)
        for binding in (each for member in members for each in bound.get(member, ())):
            role = _role(binding, namespace, world)
            if role is not None:
                yield role.object


def _bound(world: World, kind: str, namespace: str) -> Mapping[Member, Sequence[Subject]]:
    """The bindings of a kind by whom they are for; of one namespace where that is given."""
    found: dict[Member, list[Subject]] = {}
    for where in lookup.places_near(namespace):
        for binding in map(_known, world.of_kind(kind, where)):
            if binding.name and namespace in ("", binding.namespace):
                for each in lookup.items(binding.object["subjects"]):
                    found.setdefault(_member(each), []).append(binding)
    return found


def _member(subject: Value) -> Member:
    kind, name = subject["kind"].text(), subject["name"].text()
    return kind, name, "" if kind == _GROUP else subject["namespace"].text()


def _known(subject: Subject) -> Subject:
    """The object, where it is known how it is called."""
    for each in ("namespace", "name"):
        subject.object["metadata"][each].is_there()
    return subject


def _role(binding: Subject, namespace: str, world: World) -> Subject | None:
    reference = binding.object["roleRef"]
    kind, name = reference["kind"].text(), reference["name"].text()
    return find_object(kind, name, namespace if kind == "Role" else "", world)


def _gives(rule: Value, wanted: Grant) -> bool:
    parts = (("apiGroups", wanted.group), ("resources", wanted.resource), ("verbs", wanted.verb))
    if rule["resourceNames"].is_there() and wanted.verb == "create":
        return False
    return all(
        {"*", part} & {each.text() for each in lookup.items(rule[key])} for key, part in parts
    )
