"""Who has a role: bindings, and what they give to everybody, to pods, and to people (rbac.authorization.k8s.io/v1)."""

import re
from collections.abc import Iterator, Mapping
from enum import Enum, auto
from fnmatch import fnmatchcase
from typing import Final

from trainer_infra.rules.grants import Grant, find_object, gives
from trainer_infra.rules.placement import lookup
from trainer_infra.rules.rule import (
    Context,
    Finding,
    Parameters,
    Rule,
    Severity,
    Subject,
    Value,
    World,
)

PROTECTED: Final = (
    *(
        "kube-system",
        "kube-public",
        "kube-node-lease",
        "openshift-*",
        "kueue-system",
        "jobset-system",
    ),
    *(
        "kubeflow-system",
        "kubeflow-trainer-system",
        "lws-system",
        "volcano-system",
        "kai-scheduler",
    ),
    *("cert-manager", "external-secrets", "argocd", "flux-system", "gatekeeper-system", "kyverno"),
    *("istio-system", "gpu-operator", "network-operator", "nvidia-network-operator", "karpenter"),
)
"""Namespaces, as patterns, of the cluster's own programs and of operators."""
OPERATORS: Final = (*PROTECTED, "*-system", "*-operator", "*-operators", "monitoring")
"""Those, and how namespaces of other operators are usually called."""
_ADMINISTRATORS: Final = (
    *("admin", "admins", "administrator", "administrators", "breakglass", "infra"),
    *("infrastructure", "oncall", "operators", "ops", "platform", "root", "sre", "sres", "devops"),
)
BINDINGS: Final = frozenset({"RoleBinding", "ClusterRoleBinding"})
_CLUSTER_BINDING: Final = "ClusterRoleBinding"
_ACCOUNT: Final = "ServiceAccount"
_ACCOUNT_USER: Final = "system:serviceaccount:"
_ACCOUNTS: Final = "system:serviceaccounts"
_EVERYBODY: Final = (_ACCOUNTS, "system:authenticated")
_ANONYMOUS: Final = ("system:anonymous", "system:unauthenticated")
_MASTERS: Final = "system:masters"


class TrustedHolders(Parameters):
    """Who may have any right."""

    operators: tuple[str, ...] = OPERATORS
    """Namespaces, as patterns, whose accounts are the cluster's own programs and operators."""
    administrators: tuple[str, ...] = _ADMINISTRATORS
    """Words in the names of users and groups that administer the cluster."""


class RoleHolder(Enum):
    """Who has a role."""

    ANONYMOUS = auto()
    """Everyone who reaches the API server."""
    EVERYBODY = auto()
    """Every account of the cluster."""
    MASTERS = auto()
    """The group that may do everything whatever is bound."""
    DEFAULT = auto()
    """Every pod of a namespace that names no account, or any."""
    POD = auto()
    """The pods that name the account."""
    PERSON = auto()
    """A user or a group."""
    TRUSTED = auto()
    """The cluster's own programs, operators and administrators."""


def is_in(namespace: str, patterns: tuple[str, ...]) -> bool:
    """Whether a namespace is one of those."""
    return any(fnmatchcase(namespace, each) for each in patterns)


def holder(subject: Value, namespace: str, trusted: TrustedHolders) -> RoleHolder:
    """Who one of the subjects of a binding is, which is in a namespace or in none."""
    name = subject["name"].text()
    if subject["kind"].text() == _ACCOUNT:
        return _account(name, subject["namespace"].text() or namespace, trusted)
    for names, found in (
        ((_MASTERS,), RoleHolder.MASTERS),
        (_ANONYMOUS, RoleHolder.ANONYMOUS),
        (_EVERYBODY, RoleHolder.EVERYBODY),
    ):
        if name in names:
            return found
    if name.startswith(_ACCOUNT_USER):
        where, _, account = name.removeprefix(_ACCOUNT_USER).partition(":")
        return _account(account, where, trusted)
    if name.startswith(f"{_ACCOUNTS}:"):
        return _account("default", name.removeprefix(f"{_ACCOUNTS}:"), trusted)
    words = {*re.split(r"[^a-z0-9]+", name.lower())}
    if name.startswith("system:") or words & {*trusted.administrators}:
        return RoleHolder.TRUSTED
    return RoleHolder.PERSON


def _account(name: str, namespace: str, trusted: TrustedHolders) -> RoleHolder:
    if name == "default":
        return RoleHolder.DEFAULT
    return RoleHolder.TRUSTED if is_in(namespace, trusted.operators) else RoleHolder.POD


def holders_of(role: Subject, world: World, trusted: TrustedHolders) -> set[RoleHolder]:
    """Who has a role by the bindings that are known."""
    where = role.namespace if role.kind == "Role" else ""
    bindings = world.once(_by_role).get((role.kind, where, role.name), ())
    return {
        holder(each, binding.namespace, trusted)
        for binding in bindings
        for each in lookup.items(binding.object["subjects"])
    }


def _by_role(world: World) -> Mapping[tuple[str, str, str], list[Subject]]:
    """The bindings by kind, namespace and name of their role; a ClusterRole has none."""
    found: dict[tuple[str, str, str], list[Subject]] = {}
    for kind in BINDINGS:
        for each in world.of_kind(kind):
            reference = each.object["roleRef"]
            of_kind = reference["kind"].text()
            where = each.namespace if of_kind == "Role" else ""
            found.setdefault((of_kind, where, reference["name"].text()), []).append(each)
    return found


class RoleStrength(Enum):
    """What a role lets its holders do."""

    HARMLESS = auto()
    """What everyone may know."""
    READ = auto()
    """Read objects, but no Secrets."""
    UNKNOWN = auto()
    """Something that stands nowhere."""
    WRITE = auto()
    """Write some objects, or read Secrets."""
    EDIT = auto()
    """Nearly everything in a namespace, Secrets included."""
    ALL = auto()
    """Everything."""


_DISCOVERY: Final = (
    *("system:discovery", "system:basic-user", "system:public-info-viewer"),
    *("system:service-account-issuer-discovery", "kubeadm:bootstrap-signer-clusterinfo"),
)
_BUILT_IN: Final[Mapping[str, RoleStrength]] = {
    **dict.fromkeys(_DISCOVERY, RoleStrength.HARMLESS),
    "view": RoleStrength.READ,
    "edit": RoleStrength.EDIT,
    "admin": RoleStrength.EDIT,
    "cluster-admin": RoleStrength.ALL,
    **dict.fromkeys(
        (f"system:openshift:scc:{each}" for each in ("privileged", "hostaccess")), RoleStrength.ALL
    ),
}
"""Roles that every cluster has, and those of OpenShift by which pods may be privileged."""
_READING: Final = frozenset({"get", "list", "watch"})


def _strength(binding: Subject, world: World) -> RoleStrength:
    reference = binding.object["roleRef"]
    kind, name = reference["kind"].text(), reference["name"].text()
    where = binding.object.at("metadata", "namespace").text() if kind == "Role" else ""
    role = find_object(kind, name, where, world)
    if role is None:
        built_in = _BUILT_IN.get(name) if kind == "ClusterRole" else None
        usual = RoleStrength.READ if name.startswith("system:") else RoleStrength.UNKNOWN
        return built_in or usual
    rules = tuple(lookup.items(role.object["rules"]))
    if any(gives(each, Grant("*", "*", "*")) for each in rules):
        return RoleStrength.ALL
    if all(each["nonResourceURLs"].is_there() for each in rules) and rules:
        return RoleStrength.HARMLESS
    verbs = {each.text() for one in rules for each in lookup.items(one["verbs"])}
    reads = verbs <= _READING
    is_open = reads and not any(_reads_secrets(each) for each in rules)
    return RoleStrength.READ if is_open else RoleStrength.WRITE


def _reads_secrets(rule: Value) -> bool:
    return any(gives(rule, Grant(each, "secrets", "")) for each in _READING)


_WHOLE: Final = frozenset({RoleStrength.ALL})
_STRONG: Final = _WHOLE | {RoleStrength.EDIT}
_WRITING: Final = _STRONG | {RoleStrength.WRITE}
_MORE: Final = _WRITING | {RoleStrength.UNKNOWN, RoleStrength.READ}
_TOO_MUCH: Final[
    Mapping[RoleHolder, tuple[frozenset[RoleStrength], frozenset[RoleStrength], str]]
] = {
    RoleHolder.ANONYMOUS: (
        *(_MORE, _MORE),
        "is everyone who reaches the API server, without a password",
    ),
    RoleHolder.EVERYBODY: (
        *(_MORE, _WRITING),
        "is every account of the cluster, that of every pod included",
    ),
    RoleHolder.MASTERS: (
        *(frozenset(RoleStrength), frozenset(RoleStrength)),
        "may do everything already, past every check, and cannot be taken back",
    ),
    RoleHolder.DEFAULT: (_STRONG, _STRONG, "is the account of pods that name none"),
    RoleHolder.POD: (_STRONG, _WHOLE, "is an account of pods, which is too much for one"),
    RoleHolder.PERSON: (_WHOLE, frozenset(), "is not an administrator by its name"),
}
"""By who holds a role, what is too much by a ClusterRoleBinding, and by a RoleBinding; and why."""


def _places_of_subjects(subject: Subject) -> Iterator[Value]:
    yield from subject.object["subjects"].items()


def _check_binding(place: Value, context: Context[TrustedHolders]) -> Iterator[Finding]:
    binding = context.subject
    namespace = binding.object.at("metadata", "namespace").text()
    found = holder(place, namespace, context.parameters)
    if found not in _TOO_MUCH:
        return
    wide, narrow, why = _TOO_MUCH[found]
    strength = _strength(binding, context.world)
    role = binding.object.at("roleRef", "name").text()
    # Who may edit a namespace of the cluster's own programs may become them.
    reaches_in = found is RoleHolder.POD and is_in(namespace, PROTECTED)
    is_wide = binding.kind == _CLUSTER_BINDING or reaches_in
    # A role of the platform's own that only reads is often meant for everybody; `view` is not one.
    is_shared = found is RoleHolder.EVERYBODY and strength is RoleStrength.READ and role != "view"
    if strength in (wide if is_wide else narrow) and not is_shared:
        fix = "give a role with what it needs to an account of its own"
        yield place["name"].finding(f"has the role {role}, and {why}", place["name"].text(), fix)


ROLE_BINDING: Final = Rule(
    id="role-binding",
    title="Bindings must not give roles to everybody, nor cluster-wide rights to pods",
    severity=Severity.HIGH,
    kinds=BINDINGS,
    tags=("pod-security", "rbac"),
    frameworks=(
        "cis-kubernetes/5.1.1",
        "cis-kubernetes/5.1.5",
        "cis-kubernetes/5.1.7",
        "owasp-k8s/K03",
    ),
    why=(
        "Training code, and every package that it installs, has the rights of the pod's account. "
        "With those of cluster-admin, or of everybody, one bad package has the cluster."
    ),
    fix="Bind a role with the rights that are needed to an account that only those pods name.",
    places=_places_of_subjects,
    check=_check_binding,
    looks_around=True,
    parameters=TrustedHolders,
)
