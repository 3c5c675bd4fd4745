"""Who works in a workspace: users, groups and service accounts."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Literal, Required, TypedDict

import pulumi

from trainer_infra.errors import Problem
from trainer_infra.json_values import JSONObject
from trainer_infra.platform.workspaces.object_name import label_problems

SERVICE_ACCOUNT: Final = "ServiceAccount"
_KINDS: Final = ("User", "Group", SERVICE_ACCOUNT)
_RBAC: Final = "rbac.authorization.k8s.io"
_EVERYONE: Final = frozenset({"system:authenticated", "system:unauthenticated", "system:anonymous"})
_FIELDS: Final = frozenset({"kind", "name", "namespace", "rights"})


class WorkspaceMember(TypedDict, total=False):
    """One member."""

    kind: Required[Literal["User", "Group", "ServiceAccount"]]
    """What it is."""
    name: Required[pulumi.Input[str]]
    """As the cluster's authentication calls it."""
    namespace: pulumi.Input[str]
    """Of a ServiceAccount; the workspace's unless given."""
    rights: Sequence[str]
    """Sets of rights of this member; those of the workspace unless given."""


def member_subject(member: WorkspaceMember, namespace: str) -> JSONObject:
    """A member as a RoleBinding names it."""
    if member["kind"] == SERVICE_ACCOUNT:
        home = member.get("namespace", namespace)
        return {"kind": SERVICE_ACCOUNT, "name": member["name"], "namespace": home}
    return {"apiGroup": _RBAC, "kind": member["kind"], "name": member["name"]}


def member_problems(members: object) -> Iterator[Problem]:
    """What is wrong with members; their rights are judged in `rights`."""
    if isinstance(members, str) or not isinstance(members, Sequence):
        yield Problem("members", "must be a list", got=members, fix=f"write {_EXAMPLE}")
        return
    for number, each in enumerate(members):
        yield from _problems(f"members[{number}]", each)


_EXAMPLE: Final = '[{"kind": "Group", "name": "vision-team"}]'


def _problems(path: str, member: Any) -> Iterator[Problem]:
    if not isinstance(member, Mapping):
        yield Problem(path, "must have a kind and a name", got=member, fix=f"write {_EXAMPLE}")
        return
    kind, name = member.get("kind"), member.get("name")
    if kind not in _KINDS:
        yield Problem(
            f"{path}.kind", "is no kind of member", got=kind, fix="write " + _one_of(_KINDS)
        )
    if not name:
        yield Problem(f"{path}.name", "is missing", fix="name it as the cluster's sign-in does")
    if isinstance(name, str) and name in _EVERYONE:
        what = "is everyone who reaches the API server"
        yield Problem(f"{path}.name", what, got=name, fix="name a group of the team")
    if kind == SERVICE_ACCOUNT and isinstance(name, str) and name:
        yield from label_problems(f"{path}.name", name)
    elif "namespace" in member and kind in _KINDS:
        what = f"is for a ServiceAccount, and this is a {kind}"
        yield Problem(f"{path}.namespace", what, got=member["namespace"], fix="leave it out")
    for field in member.keys() - _FIELDS:
        known = ", ".join(sorted(_FIELDS))
        yield Problem(f"{path}.{field}", "is no field of a member", fix=f"use {known}")


def _one_of(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}"
