"""Who works in a workspace: users, groups and service accounts."""

from collections.abc import Iterator, Sequence
from typing import Final, Literal, Required, TypedDict

import pulumi

from trainer_infra.errors import Problem
from trainer_infra.json_values import JSONObject
from trainer_infra.platform.workspaces.object_name import label_problems

SERVICE_ACCOUNT: Final = "ServiceAccount"
_RBAC: Final = "rbac.authorization.k8s.io"
_EVERYONE: Final = frozenset({"system:authenticated", "system:unauthenticated", "system:anonymous"})


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


def member_problems(members: Sequence[WorkspaceMember]) -> Iterator[Problem]:
    """What is wrong with members; their rights are judged in `rights`."""
    for number, each in enumerate(members):
        yield from _problems(f"members[{number}]", each)


def _problems(path: str, member: WorkspaceMember) -> Iterator[Problem]:
    kind, name = member["kind"], member["name"]
    if not name:
        yield Problem(f"{path}.name", "is missing", fix="name it as the cluster's sign-in does")
    if isinstance(name, str) and name in _EVERYONE:
        what = "is everyone who reaches the API server"
        yield Problem(f"{path}.name", what, got=name, fix="name a group of the team")
    if kind == SERVICE_ACCOUNT and isinstance(name, str) and name:
        yield from label_problems(f"{path}.name", name)
    elif "namespace" in member:
        what = f"is for a ServiceAccount, and this is a {kind}"
        yield Problem(f"{path}.namespace", what, got=member["namespace"], fix="leave it out")
