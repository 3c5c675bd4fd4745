"""What bindings and roles of every kind give a service account."""

from typing import Any

import pytest

from trainer_infra.rules import tree, world
from trainer_infra.rules.data import cache_permissions
from trainer_infra.rules.grants import Grant
from trainer_infra.rules.value import UNKNOWN, UnseenValue

GET = Grant("get", "services", "")
CREATE = Grant("create", "services", "")


def missing(binding: dict[str, Any], *rules: dict[str, Any]) -> tuple[Grant, ...]:
    role = {"kind": "ClusterRole", "metadata": {"name": "cache"}, "rules": list(rules)}
    given = {
        "kind": "RoleBinding",
        "metadata": {"name": "cache", "namespace": "vision"},
        "roleRef": {"kind": "ClusterRole", "name": "cache"},
        **binding,
    }
    around = world.world_of(tree.subjects_of([role, given]), is_whole=True)
    return cache_permissions.missing_grants("fetcher", "vision", (GET, CREATE), around)


def to(kind: str, name: str, namespace: str = "vision") -> dict[str, Any]:
    return {"subjects": [{"kind": kind, "name": name, "namespace": namespace}]}


def rule(*verbs: Any, **fields: Any) -> dict[str, Any]:
    return {"apiGroups": [""], "resources": ["services"], "verbs": list(verbs), **fields}


OWN = to("ServiceAccount", "fetcher")


@pytest.mark.parametrize(
    ("binding", "rules", "expected"),
    [
        (OWN, [rule("get", "create")], ()),
        (OWN, [rule("get"), rule("create")], ()),
        (OWN, [rule("*", resources=["*"], apiGroups=["*"])], ()),
        (OWN, [rule("get")], (CREATE,)),
        (OWN, [rule("get", "create", apiGroups=["apps"])], (GET, CREATE)),
        (OWN, [rule("get", "create", resourceNames=["one"])], (CREATE,)),
        (OWN | {"kind": "ClusterRoleBinding", "metadata": {"name": "x"}}, [rule("*")], ()),
        (OWN | {"metadata": {"name": "x", "namespace": "audio"}}, [rule("*")], (GET, CREATE)),
        (OWN | {"roleRef": {"kind": "Role", "name": "cache"}}, [rule("*")], (GET, CREATE)),
        (to("ServiceAccount", "fetcher", "audio"), [rule("*")], (GET, CREATE)),
        (to("Group", "system:serviceaccounts:vision"), [rule("*")], ()),
        (to("User", "fetcher"), [rule("*")], (GET, CREATE)),
    ],
)
def test_what_is_missing(
    binding: dict[str, Any], rules: list[dict[str, Any]], expected: tuple[Grant, ...]
) -> None:
    assert missing(binding, *rules) == expected


def test_without_any_binding_nobody_looked() -> None:
    assert (
        cache_permissions.missing_grants(
            "fetcher", "vision", (GET,), world.world_of((), is_whole=True)
        )
        == ()
    )


def test_a_role_that_is_not_known_may_give_it() -> None:
    with pytest.raises(UnseenValue):
        missing(OWN, rule(UNKNOWN))
