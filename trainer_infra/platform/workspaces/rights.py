"""What members of a workspace may do: Roles in its namespace, and the little that they read outside.

`sdk` is what the calls of Kubeflow's published Python SDK 0.5 need, and nothing more: it neither watches
nor changes an object. It also reads the ConfigMap kubeflow-trainer-public of Trainer's namespace, which
Trainer's own manifests let every account of the cluster do. `provider` is what this package's engine
`provider` and its command line need (docs/kubernetes.md, Rights). `edit-runtimes` makes runtimes of the
namespace.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal, Required, TypedDict

import pulumi

from trainer_infra.cluster.rights import ROLES, Right, right_to
from trainer_infra.errors import Problem
from trainer_infra.json_values import JSONObject
from trainer_infra.kube.resource import (
    CLUSTER_TRAINING_RUNTIME,
    EVENT,
    POD,
    TRAIN_JOB,
    TRAINING_RUNTIME,
)
from trainer_infra.platform.argument_problems import SHORT_NAME, shape_problems

_SERVICE_ACCOUNT: Final = "ServiceAccount"
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


SDK: Final = "sdk"
RIGHT_SETS: Final[Mapping[str, tuple[Right, ...]]] = {
    SDK: (
        *right_to(TRAIN_JOB, "create", "get", "list", "delete"),
        *right_to(TRAINING_RUNTIME, "get", "list"),
        *right_to(CLUSTER_TRAINING_RUNTIME, "get", "list"),
        *right_to(POD, "list"),
        *right_to(POD, "get", subresource="log"),
        *right_to(EVENT, "list"),
    ),
    "provider": (*ROLES["submit"], *ROLES["gate"], *ROLES["nodes"], *ROLES["cli"]),
    "edit-runtimes": (
        *right_to(TRAINING_RUNTIME, "create", "get", "list", "patch", "update", "delete"),
    ),
}
"""Rights by the name that a program gives them."""


def rights_objects(
    namespace: str, members: Sequence[WorkspaceMember], default: Sequence[str]
) -> Iterator[JSONObject]:
    """Roles of every set that a member has, and bindings; members that name no set have the default ones."""
    for name, rights in RIGHT_SETS.items():
        having = (each for each in members if name in each.get("rights", default))
        subjects = [_subject(each, namespace) for each in having]
        if not subjects:
            continue
        inside = role_rules(each for each in rights if each.namespaced)
        yield from _bound("Role", f"trainer-infra-{name}", namespace, inside, subjects)
        outside = role_rules(each for each in rights if not each.namespaced)
        if outside:
            # The name has the namespace in it: a cluster has several workspaces.
            full = f"trainer-infra:{namespace}:{name}"
            yield from _bound("ClusterRole", full, "", outside, subjects)


def role_rules(rights: Iterable[Right]) -> list[JSONObject]:
    """Rights as the rules of a Role: a row for each resource, each verb once."""
    verbs: dict[tuple[str, str], dict[str, None]] = {}
    for each in rights:
        verbs.setdefault((each.group, each.resource), {})[each.verb] = None
    return [
        {"apiGroups": [group], "resources": [resource], "verbs": list(allowed)}
        for (group, resource), allowed in verbs.items()
    ]


def rights_problems(path: str, wanted: Sequence[str]) -> Iterator[Problem]:
    """Sets of rights that there are not."""
    known = ", ".join(RIGHT_SETS)
    for each in wanted:
        if each not in RIGHT_SETS:
            yield Problem(path, "is not a set of rights", got=each, fix=f"use {known}")


def role_binding(role: JSONObject, subjects: Sequence[JSONObject]) -> JSONObject:
    """Gives a Role or a ClusterRole to subjects, under its own name."""
    kind, metadata = role["kind"], dict(role["metadata"])
    reference = {"apiGroup": _RBAC, "kind": kind, "name": metadata["name"]}
    made = {"apiVersion": f"{_RBAC}/v1", "kind": f"{kind}Binding", "metadata": metadata}
    return {**made, "roleRef": reference, "subjects": list(subjects)}


def role(kind: str, name: str, namespace: str, rules: Sequence[JSONObject]) -> JSONObject:
    """A Role, or without a namespace a ClusterRole."""
    metadata = {"name": name} | ({"namespace": namespace} if namespace else {})
    return {"apiVersion": f"{_RBAC}/v1", "kind": kind, "metadata": metadata, "rules": list(rules)}


def _bound(
    kind: str, name: str, namespace: str, rules: list[JSONObject], subjects: list[JSONObject]
) -> Iterator[JSONObject]:
    made = role(kind, name, namespace, rules)
    yield made
    yield role_binding(made, subjects)


def _subject(member: WorkspaceMember, namespace: str) -> JSONObject:
    """A member as a RoleBinding names it."""
    if member["kind"] == _SERVICE_ACCOUNT:
        home = member.get("namespace", namespace)
        return {"kind": _SERVICE_ACCOUNT, "name": member["name"], "namespace": home}
    return {"apiGroup": _RBAC, "kind": member["kind"], "name": member["name"]}


def member_problems(number: int, member: WorkspaceMember) -> Iterator[Problem]:
    """What is wrong with a member."""
    path, kind, name = f"members[{number}]", member["kind"], member["name"]
    if not name:
        yield Problem(f"{path}.name", "is missing", fix="name it as the cluster's sign-in does")
    if isinstance(name, str) and name in _EVERYONE:
        what = "is everyone who reaches the API server"
        yield Problem(f"{path}.name", what, got=name, fix="name a group of the team")
    if kind == _SERVICE_ACCOUNT and isinstance(name, str) and name:
        yield from shape_problems(("members", number, "name"), name, SHORT_NAME)
    elif "namespace" in member:
        what = f"is for a ServiceAccount, and this is a {kind}"
        yield Problem(f"{path}.namespace", what, got=member["namespace"], fix="leave it out")
