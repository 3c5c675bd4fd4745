"""Who has a role: bindings, and what they give to everybody, to pods, and to people (rbac.authorization.k8s.io/v1)."""

import re
from collections.abc import Iterator, Mapping
from enum import Enum, IntEnum, auto
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Final

from trainer_infra.rules.grants import ALL, Grant, find_object, given
from trainer_infra.rules.placement import lookup
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject, Value
from trainer_infra.rules.world import World

PROTECTED: Final = (
    *("kube-system", "kube-public", "kube-node-lease", "openshift-*", "kueue-system"),
    *("jobset-system", "kubeflow-system", "kubeflow-trainer-system", "lws-system"),
    *("volcano-system", "kai-scheduler", "cert-manager", "external-secrets", "argocd"),
    *("flux-system", "gatekeeper-system", "kyverno", "istio-system", "gpu-operator"),
    *("network-operator", "nvidia-network-operator", "karpenter"),
)
"""Namespaces, as patterns, of the cluster's own programs and of operators."""
OPERATORS: Final = (
    *(*PROTECTED, "*-system", "*-operator", "*-operators", "monitoring", "rook-ceph", "openebs"),
    *("velero", "vault", "keda", "kubevirt", "knative-*", "tekton-*", "node-feature-discovery"),
)
"""Those, and how namespaces of other operators are usually called."""
_ADMINISTRATORS: Final = (
    *("admin", "admins", "administrator", "administrators", "breakglass", "infra"),
    *("infrastructure", "oncall", "operators", "ops", "platform", "root", "sre", "sres", "devops"),
)
BINDINGS: Final = frozenset({"RoleBinding", "ClusterRoleBinding"})
_ACCOUNT_USER: Final = "system:serviceaccount:"
_ACCOUNTS_OF: Final = "system:serviceaccounts:"
"""What the user that an account is begins with, and the group of all accounts of a namespace."""
PRIVILEGED: Final = ("privileged", "hostaccess", "hostmount-anyuid", "node-exporter")
"""SecurityContextConstraints of OpenShift that let a pod have its node."""


class TrustedHolders(Parameters):
    """Who may have any right."""

    operators: tuple[str, ...] = OPERATORS
    """Namespaces, as patterns, whose accounts are the cluster's own programs and operators."""
    administrators: tuple[str, ...] = _ADMINISTRATORS
    """Words in the names of users and groups that administer the cluster."""


class RoleStrength(IntEnum):
    """What a role lets its holders do, from little to much."""

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
    MORE = auto()
    """More than any role."""


class RoleHolder(Enum):
    """Who has a role: from where on it is too much, by a ClusterRoleBinding and by a RoleBinding, and why."""

    ANONYMOUS = (
        RoleStrength.READ,
        RoleStrength.READ,
        "is everyone who reaches the API server, without a password",
    )
    EVERYBODY = (
        RoleStrength.READ,
        RoleStrength.WRITE,
        "is every account of the cluster, that of every pod included",
    )
    MASTERS = (
        RoleStrength.HARMLESS,
        RoleStrength.HARMLESS,
        "may do everything already, and no check ever stops it",
    )
    DEFAULT = (RoleStrength.EDIT, RoleStrength.EDIT, "every pod that names no account has it too")
    POD = (RoleStrength.EDIT, RoleStrength.ALL, "is an account of pods, for which that is too much")
    PERSON = (RoleStrength.ALL, RoleStrength.MORE, "its name is not an administrator's")
    TRUSTED = (RoleStrength.MORE, RoleStrength.MORE, "")
    """The cluster's own programs, operators and administrators."""


@lru_cache(maxsize=1 << 10)
def is_in(namespace: str, patterns: tuple[str, ...]) -> bool:
    """Whether a namespace is one of those."""
    return any(fnmatchcase(namespace, each) for each in patterns)


_KNOWN: Final = {
    "system:anonymous": RoleHolder.ANONYMOUS,
    "system:unauthenticated": RoleHolder.ANONYMOUS,
    "system:authenticated": RoleHolder.EVERYBODY,
    "system:serviceaccounts": RoleHolder.EVERYBODY,
    "system:masters": RoleHolder.MASTERS,
}
"""Users and groups that every cluster has."""


def holder(subject: Value, namespace: str, trusted: TrustedHolders) -> RoleHolder:
    """Who one of the subjects of a binding is, which is in a namespace or in none."""
    name = subject["name"].text()
    if subject["kind"].text() == "ServiceAccount":
        return _account(name, subject["namespace"].text() or namespace, trusted)
    if name in _KNOWN:
        return _KNOWN[name]
    if name.startswith(_ACCOUNT_USER):
        where, _, account = name.removeprefix(_ACCOUNT_USER).partition(":")
        return _account(account, where, trusted)
    if name.startswith(_ACCOUNTS_OF):
        return RoleHolder.DEFAULT
    words = {*re.split(r"[^a-z0-9]+", name.lower())}
    is_trusted = name.startswith("system:") or words & {*trusted.administrators}
    return RoleHolder.TRUSTED if is_trusted else RoleHolder.PERSON


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


_DISCOVERY: Final = (
    *("system:discovery", "system:basic-user", "system:public-info-viewer"),
    *("system:service-account-issuer-discovery", "kubeadm:bootstrap-signer-clusterinfo"),
)
_BUILT_IN: Final = {
    **dict.fromkeys(_DISCOVERY, RoleStrength.HARMLESS),
    "view": RoleStrength.READ,
    **dict.fromkeys(("edit", "admin"), RoleStrength.EDIT),
    "cluster-admin": RoleStrength.ALL,
    **{f"system:openshift:scc:{each}": RoleStrength.ALL for each in PRIVILEGED},
}
"""Roles that every cluster has, and those of OpenShift by which pods may be privileged."""
_READING: Final = frozenset({"get", "list", "watch"})
_SECRETS: Final = tuple(Grant(each, "secrets", "") for each in sorted(_READING))


def _strength(binding: Subject, world: World) -> RoleStrength:
    reference = binding.object["roleRef"]
    kind, name = reference["kind"].text(), reference["name"].text()
    where = binding.object.at("metadata", "namespace").text() if kind == "Role" else ""
    role = find_object(kind, name, where, world)
    if role is None or role.object["aggregationRule"].is_there():
        usual = RoleStrength.READ if name.startswith("system:") else RoleStrength.UNKNOWN
        return _BUILT_IN.get(name, usual) if kind == "ClusterRole" else usual
    rules = tuple(lookup.items(role.object["rules"]))
    if any(given(each, (Grant(ALL, ALL, ALL),)) for each in rules):
        return RoleStrength.ALL
    if rules and all(each["nonResourceURLs"].is_there() for each in rules):
        return RoleStrength.HARMLESS
    verbs = {each.text() for one in rules for each in lookup.items(one["verbs"])}
    is_open = verbs <= _READING and not any(given(each, _SECRETS) for each in rules)
    return RoleStrength.READ if is_open else RoleStrength.WRITE


def _places_of_subjects(subject: Subject) -> Iterator[Value]:
    yield from subject.object["subjects"].items()


def _check_binding(place: Value, context: Context[TrustedHolders]) -> Iterator[Finding]:
    binding = context.subject
    namespace = binding.object.at("metadata", "namespace").text()
    found = holder(place, namespace, context.parameters)
    if found is RoleHolder.TRUSTED:
        return
    wide, narrow, why = found.value
    # Who may edit a namespace of the cluster's own programs may become them.
    reaches_in = found is RoleHolder.POD and is_in(namespace, PROTECTED)
    strength = _strength(binding, context.world)
    role = binding.object.at("roleRef", "name").text()
    # A role of the platform's own that only reads is often meant for everybody; `view` is not one.
    is_shared = found is RoleHolder.EVERYBODY and strength is RoleStrength.READ and role != "view"
    least = wide if binding.kind == "ClusterRoleBinding" or reaches_in else narrow
    if strength >= least and not is_shared:
        fix = "give a role with what it needs to an account of its own"
        yield place["name"].finding(f"has the role {role}, and {why}", place["name"].text(), fix)


ROLE_BINDING: Final = Rule(
    id="role-binding",
    title="Bindings must not give roles to everybody, nor cluster-wide rights to pods",
    severity=Severity.HIGH,
    kinds=BINDINGS,
    tags=("pod-security", "rbac"),
    frameworks=(
        *("cis-kubernetes/5.1.1", "cis-kubernetes/5.1.5", "cis-kubernetes/5.1.7"),
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
