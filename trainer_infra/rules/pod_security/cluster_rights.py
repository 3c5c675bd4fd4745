"""Roles that reach further than they say (rbac.authorization.k8s.io/v1): from them the whole cluster can be had.

What the cluster's own programs, in namespaces of their own, and administrators may do is the platform's to decide: a
role that is bound to them alone is left. Sources: Kubernetes' good practices of RBAC, CIS benchmark 5.1.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from trainer_infra.rules.grants import ALL, Grant, given
from trainer_infra.rules.placement import lookup
from trainer_infra.rules.pod_security import role_holders
from trainer_infra.rules.pod_security.role_holders import RoleHolder, TrustedHolders
from trainer_infra.rules.rule import Context, Finding, Rule, Severity, Subject, Value

_CLUSTER_ROLE: Final = "ClusterRole"
ROLES: Final = frozenset({"Role", _CLUSTER_ROLE})
_RBAC: Final = "rbac.authorization.k8s.io"
_HOOKS: Final = "admissionregistration.k8s.io"
_AGGREGATION: Final = "aggregationRule"
_AGGREGATED: Final = f"{_RBAC}/aggregate-to-"


def _powers(*rows: tuple[str, str, str, str]) -> Mapping[Grant, str]:
    """What holders can do, in words, by each of the grants that let them: verbs, resources and group."""
    return {
        Grant(verb, resource, group): words
        for words, verbs, resources, group in rows
        for verb in verbs.split()
        for resource in resources.split()
    }


_APPROVAL: Final = "certificatesigningrequests/approval"
_POLICIES: Final = "{0}webhookconfigurations {0}admissionpolicies {0}admissionpolicybindings"
_MUTATING: Final = _POLICIES.format("mutating")
_VALIDATING: Final = _POLICIES.format("validating")
_WRITING: Final = "create update patch"
_TAKEN: Final = _powers(
    ("do everything", ALL, ALL, ALL),
    ("give themselves any right", "escalate bind", "roles clusterroles", _RBAC),
    ("act as anybody", "impersonate", "users groups serviceaccounts", ""),
    ("take the token of any service account", "create", "serviceaccounts/token", ""),
    ("run programs in every pod through the kubelets", "create get", "nodes/proxy", ""),
    ("approve certificates for anybody", "update patch", _APPROVAL, "certificates.k8s.io"),
    ("change whatever anybody creates", _WRITING, _MUTATING, _HOOKS),
    ("run privileged pods", "use", "securitycontextconstraints", "security.openshift.io"),
)
"""What is as good as the whole cluster."""
_REACHES: Final = _powers(
    ("read every Secret", "get list watch", "secrets", ""),
    ("run programs in the pods of others", "create get", "pods/exec pods/attach", ""),
    ("put containers into the pods of others", "update patch", "pods/ephemeralcontainers", ""),
    ("mount any folder of a node", "create", "persistentvolumes", ""),
    ("change what the scheduler knows of a node", "update patch", "nodes", ""),
    ("open the namespace to privileged pods", "update patch", "namespaces", ""),
    ("switch off what checks objects", f"{_WRITING} delete deletecollection", _VALIDATING, _HOOKS),
)
"""What reaches beyond the holder's own objects."""
_NAMED: Final = frozenset(("cluster-admin", "system:masters", *role_holders.PRIVILEGED))
"""Names of objects that are the cluster all the same."""
_OF_ALL: Final = "kubernetes.io/bootstrapping"
"""A label of all roles that Kubernetes itself makes, cluster-admin among them."""
_SECRET_READERS: Final = frozenset((f"{_AGGREGATED}admin", f"{_AGGREGATED}edit"))


def _places(subject: Subject) -> Iterator[Value]:
    yield from subject.object["rules"].items()
    yield from subject.object.at(_AGGREGATION, "clusterRoleSelectors").items()


def _selected(selector: Value) -> set[str]:
    """The keys of the labels that a selector wants."""
    labels, expressions = selector["matchLabels"], lookup.items(selector["matchExpressions"])
    wanted = (each for each in expressions if each["operator"].text() in ("In", "Exists"))
    keys = {each["key"].text() for each in wanted}
    return keys.union(key for key, _ in labels.fields()) if labels.is_there() else keys


def _escalation(place: Value, kind: str) -> str:
    """How a rule or a selector of a role gives the cluster away; empty where it does not."""
    if place.path[0] == _AGGREGATION:
        wanted = _selected(place)
        return "" if wanted and _OF_ALL not in wanted else "gathers the rights of every ClusterRole"
    names = {each.text() for each in lookup.items(place["resourceNames"])}
    resources = {*place["resources"].texts()}
    # In one namespace wildcards are a team's own matter.
    is_own = kind != _CLUSTER_ROLE and ALL in resources.union(place["verbs"].texts())
    if is_own or (names and names.isdisjoint(_NAMED)):
        return ""
    for each in given(place, _TAKEN):
        # Who may read everything reads the kubelets, too, which is for the other rule.
        if each.verb != "get" or each.resource in resources:
            return f"lets its holders {_TAKEN[each]}"
    return ""


def _reach(place: Value, kind: str) -> str:
    """How a rule or a selector of a role that gives less reaches into what others have; empty where it does not."""
    if place.path[0] == _AGGREGATION:
        is_wide = not _SECRET_READERS.isdisjoint(_selected(place))
        return "gathers rights to read every Secret" if is_wide else ""
    reached = given(place, _REACHES)
    if not reached or any(lookup.items(place["resourceNames"])) or _escalation(place, kind):
        return ""
    return f"lets its holders {_REACHES[reached[0]]}"


def _told(
    place: Value, what: str, fix: str, context: Context[TrustedHolders], *also: RoleHolder
) -> Iterator[Finding]:
    """A finding, unless all who hold the role may have any right; who holds an aggregated one is not known."""
    if not what:
        return
    labels = context.subject.object.at("metadata", "labels")
    is_aggregated = labels.is_there() and any(
        key.startswith(_AGGREGATED) for key, _ in labels.fields()
    )
    found = role_holders.holders_of(context.subject, context.world, context.parameters)
    if is_aggregated or not found or not found <= {RoleHolder.TRUSTED, *also}:
        select = "select the roles that are meant by a label of their own"
        yield place.finding(what, None, select if place.path[0] == _AGGREGATION else fix)


def _check_escalation(place: Value, context: Context[TrustedHolders]) -> Iterator[Finding]:
    fix = "name the groups, resources and verbs that its holders need"
    return _told(place, _escalation(place, context.subject.kind), fix, context)


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
    fix = "name the objects in resourceNames, or remove the resource or the verb"
    return _told(place, _reach(place, context.subject.kind), fix, context, RoleHolder.PERSON)


ROLE_RIGHTS: Final = Rule(
    id="role-rights",
    title="Roles must not reach into the pods and Secrets of others",
    severity=Severity.MEDIUM,
    kinds=ROLES,
    tags=("pod-security", "rbac", "secrets"),
    frameworks=(
        *("cis-kubernetes/5.1.2", "cis-kubernetes/5.1.3", "cis-kubernetes/5.1.9"),
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
