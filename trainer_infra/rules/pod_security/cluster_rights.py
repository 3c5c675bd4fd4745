"""Roles that reach further than they say (rbac.authorization.k8s.io/v1): from them the whole cluster can be had.

What the cluster's own programs, in namespaces of their own, and administrators may do is the platform's to decide: a
role that is bound to them alone is left. Sources: Kubernetes' good practices of RBAC, CIS benchmark 5.1.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from trainer_infra.rules.grants import ALL, Grant, gives
from trainer_infra.rules.placement import lookup
from trainer_infra.rules.pod_security import role_holders
from trainer_infra.rules.pod_security.role_holders import RoleHolder, TrustedHolders
from trainer_infra.rules.rule import Context, Finding, Rule, Severity, Subject, Value

_CLUSTER_ROLE: Final = "ClusterRole"
ROLES: Final = frozenset({"Role", _CLUSTER_ROLE})
_RBAC: Final = "rbac.authorization.k8s.io"
_HOOKS: Final = "admissionregistration.k8s.io"
_AGGREGATED: Final = f"{_RBAC}/aggregate-to-"
EVERYTHING: Final = Grant(ALL, ALL, ALL)
_TAKEN: Final[Mapping[Grant, str]] = {
    EVERYTHING: "do everything",
    **{
        Grant(verb, each, _RBAC): "give themselves any right"
        for verb in ("escalate", "bind")
        for each in ("roles", "clusterroles")
    },
    **{
        Grant("impersonate", each, ""): "act as anybody"
        for each in ("users", "groups", "serviceaccounts")
    },
    Grant("create", "serviceaccounts/token", ""): "take the token of any service account",
    Grant("create", "nodes/proxy", ""): "run programs in every pod through the kubelets",
    Grant("update", "certificatesigningrequests/approval", "certificates.k8s.io"): (
        "approve certificates for anybody"
    ),
    **{
        Grant(verb, "mutatingwebhookconfigurations", _HOOKS): "change whatever anybody creates"
        for verb in ("create", "update", "patch")
    },
}
"""What is as good as the whole cluster, in words."""
_READ_BY_KUBELET: Final = Grant("get", "nodes/proxy", "")
"""As good as `create`; one who may read everything has it as well, and that is for role-rights."""
_REACHES: Final[Mapping[Grant, str]] = {
    **{Grant(verb, "secrets", ""): "read every Secret" for verb in ("get", "list", "watch")},
    **{
        Grant(verb, f"pods/{each}", ""): "run programs in the pods of others"
        for verb in ("create", "get")
        for each in ("exec", "attach")
    },
    **{
        Grant(verb, "pods/ephemeralcontainers", ""): "put containers into the pods of others"
        for verb in ("update", "patch")
    },
    Grant("create", "persistentvolumes", ""): "mount any folder of a node",
    Grant("patch", "nodes", ""): "change what the scheduler knows of a node",
    **{
        Grant(verb, "validatingwebhookconfigurations", _HOOKS): "switch off what checks objects"
        for verb in ("create", "update", "patch", "delete")
    },
}
"""What reaches beyond the holder's own objects, in words."""
_NAMED: Final = frozenset({"cluster-admin", "system:masters"})
"""Names of objects that are the cluster all the same."""
_OF_ALL: Final = "kubernetes.io/bootstrapping"
"""A label of all roles that Kubernetes itself makes, cluster-admin among them."""


def _places(subject: Subject) -> Iterator[Value]:
    yield from subject.object["rules"].items()
    yield from subject.object.at("aggregationRule", "clusterRoleSelectors").items()


def _is_left(context: Context[TrustedHolders], *also: RoleHolder) -> bool:
    """Whether all who hold the role may have any right; who holds an aggregated one is not known."""
    labels = context.subject.object.at("metadata", "labels")
    labels.is_there()
    if any(key.startswith(_AGGREGATED) for key, _ in labels.fields()):
        return False
    found = role_holders.holders_of(context.subject, context.world, context.parameters)
    return bool(found) and found <= {RoleHolder.TRUSTED, *also}


def _taken(rule: Value, kind: str) -> str | None:
    """How a rule of a role gives the cluster away, in words; None where it does not."""
    names = {each.text() for each in lookup.items(rule["resourceNames"])}
    wide = {ALL} & {*rule["verbs"].texts(), *rule["resources"].texts()}
    # In one namespace these are a team's own matter, but for what is asked for by name.
    if (names and not names & _NAMED) or (kind != _CLUSTER_ROLE and wide):
        return None
    if gives(rule, _READ_BY_KUBELET) and _READ_BY_KUBELET.resource in rule["resources"].texts():
        return _TAKEN[Grant("create", "nodes/proxy", "")]
    return next((words for grant, words in _TAKEN.items() if gives(rule, grant)), None)


def _selects_all(selector: Value) -> bool:
    labels = selector["matchLabels"]
    if labels[_OF_ALL].is_there():
        return True
    expressions = any(lookup.items(selector["matchExpressions"]))
    return not (expressions or any(labels.fields()))


def _check_escalation(place: Value, context: Context[TrustedHolders]) -> Iterator[Finding]:
    if _is_left(context):
        return
    if place.path[0] == "aggregationRule":
        if _selects_all(place):
            fix = "select the roles that are meant by a label of their own"
            yield place.finding("gathers the rights of every ClusterRole", None, fix)
    elif words := _taken(place, context.subject.kind):
        fix = "name the groups, resources and verbs that its holders need"
        yield place.finding(f"lets its holders {words}", None, fix)


ROLE_ESCALATION: Final = Rule(
    id="role-escalation",
    title="Roles must not give the cluster away",
    severity=Severity.HIGH,
    kinds=ROLES,
    tags=("pod-security", "rbac"),
    frameworks=(
        *("cis-kubernetes/5.1.3", "cis-kubernetes/5.1.8", "cis-kubernetes/5.1.10"),
        *("cis-kubernetes/5.1.11", "cis-kubernetes/5.1.12", "cis-kubernetes/5.1.13"),
        "owasp-k8s/K03",
    ),
    why=(
        "An account that may do everything, act as others, take their tokens, or give out rights "
        "has the whole cluster, and so does every pod that runs as it."
    ),
    fix="Name the groups, resources and verbs that are needed, and bind the role to an operator's account alone.",
    places=_places,
    check=_check_escalation,
    looks_around=True,
    parameters=TrustedHolders,
)


def _check_rights(place: Value, context: Context[TrustedHolders]) -> Iterator[Finding]:
    if _is_left(context, RoleHolder.PERSON):
        return
    if place.path[0] == "aggregationRule":
        named = [key for key, _ in place["matchLabels"].fields()]
        if {f"{_AGGREGATED}{each}" for each in ("admin", "edit")}.intersection(named):
            fix = "select the roles that are meant by a label of their own"
            yield place.finding("gathers rights that read every Secret", None, fix)
        return
    is_named = any(lookup.items(place["resourceNames"]))
    if is_named or _taken(place, context.subject.kind):
        return
    for grant, words in _REACHES.items():
        if gives(place, grant):
            fix = "name the objects in resourceNames, or remove the resource or the verb"
            yield place.finding(f"lets its holders {words}", None, fix)
            return


ROLE_RIGHTS: Final = Rule(
    id="role-rights",
    title="Roles must not reach into the pods and Secrets of others",
    severity=Severity.MEDIUM,
    kinds=ROLES,
    tags=("pod-security", "rbac", "secrets"),
    frameworks=(
        "cis-kubernetes/5.1.2",
        "cis-kubernetes/5.1.3",
        "cis-kubernetes/5.1.9",
        "owasp-k8s/K03",
    ),
    why=(
        "A pod that reads all Secrets of its namespace, or runs programs in other pods, has the "
        "rights of all of them. Training needs neither: Secrets are mounted by name."
    ),
    fix="Name the objects in `resourceNames`, or remove the resource.",
    places=_places,
    check=_check_rights,
    looks_around=True,
    parameters=TrustedHolders,
)
