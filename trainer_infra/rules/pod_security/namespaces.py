"""Namespaces: what pods they take, and which belong to the cluster's own programs.

Sources: Kubernetes' Pod Security Admission; the namespaces and accounts that Kubernetes and operators make.
"""

import re
from collections.abc import Iterator
from typing import Final

from trainer_infra import names
from trainer_infra.api.shape import workloads
from trainer_infra.rules import pods
from trainer_infra.rules.finding import where_to_fix
from trainer_infra.rules.pod_security import role_holders, service_accounts
from trainer_infra.rules.pods import Pod
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject, Value
from trainer_infra.words import listed

_LEVELS: Final = ("restricted", "baseline", "privileged")
_LABEL: Final = "pod-security.kubernetes.io/"
_ENFORCE: Final = f"{_LABEL}enforce"
_VERSION: Final = re.compile(r"latest|v1\.(0|[1-9][0-9]*)", re.ASCII)
_OPENED: Final = {
    "admission.gatekeeper.sh/ignore": "exempts the namespace from every policy of Gatekeeper",
    "openpolicyagent.org/webhook": "exempts the namespace from every policy of Open Policy Agent",
    "policy.sigstore.dev/exclude": "exempts the namespace from the check of signatures",
    "resource.kubernetes.io/admin-access": "lets claims ask for devices that others use",
}
"""Labels that take a protection off a namespace, and which."""


class NamespaceLevel(Parameters):
    """Which namespaces may be open."""

    operators: tuple[str, ...] = role_holders.OPERATORS
    """Namespaces, as patterns, whose pods may do anything: the cluster's own programs and operators."""


def _check_level(place: Value, context: Context[NamespaceLevel]) -> Iterator[Finding]:
    labels, name = place.at("metadata", "labels"), place.at("metadata", "name").text()
    for mode in (_ENFORCE, f"{_LABEL}audit", f"{_LABEL}warn"):
        level, version = labels[mode], labels[f"{mode}-version"]
        if level.is_there() and level.text() not in _LEVELS:
            yield level.finding(f"must be {listed(_LEVELS, 'or')}", level.text())
        if version.is_there() and not _VERSION.fullmatch(version.text()):
            what = "must be latest, or a version such as v1.34"
            yield version.finding(what, version.text())
    if role_holders.is_in(name, context.parameters.operators):
        return
    if labels[_ENFORCE].text() in ("", "privileged"):
        what = "takes every pod, privileged ones included"
        fix = "set it to baseline, or to restricted"
        yield labels[_ENFORCE].finding(what, labels[_ENFORCE].text() or None, fix)
    for key, what in _OPENED.items():
        if labels[key].text() not in ("", "false"):
            yield labels[key].finding(what, labels[key].text(), "remove it")


NAMESPACE_LEVEL: Final = Rule(
    id="namespace-level",
    title="Namespaces must enforce a Pod Security Standard",
    severity=Severity.MEDIUM,
    kinds=frozenset({names.NAMESPACE}),
    tags=("pod-security", "namespaces"),
    frameworks=("pod-security-standards/baseline", "cis-kubernetes/5.2.1", "owasp-k8s/K04"),
    why=(
        "What is checked in a repository can be applied past it. The label makes the API server "
        "itself reject privileged pods, also those that a controller creates."
    ),
    fix="Label the namespace `pod-security.kubernetes.io/enforce: baseline`, or `restricted`.",
    check=_check_level,
    parameters=NamespaceLevel,
)


_ALONE: Final = frozenset({"Pod", "Job", "CronJob", "PodTemplate"})
"""Kinds that operators have in namespaces of their own, too."""
_TRAINING: Final = pods.WORKLOADS - {*workloads.ALWAYS, names.CLUSTER_TRAINING_RUNTIME} - _ALONE
_ACCOUNTS: Final = (
    *("*-controller", "*-controller-manager", "*-garbage-collector", "horizontal-pod-autoscaler"),
    *("persistent-volume-binder", "cert-manager", "cert-manager-cainjector", "kube-proxy"),
    *("token-cleaner", "bootstrap-signer", "coredns"),
)


class ProtectedNamespace(Parameters):
    """What belongs to the cluster."""

    namespaces: tuple[str, ...] = role_holders.PROTECTED
    """Namespaces, as patterns, in which no job trains."""
    accounts: tuple[str, ...] = _ACCOUNTS
    """Service accounts in them, as patterns, as which no Pod or Job runs."""


def _places(subject: Subject) -> Iterator[Value | Pod]:
    if subject.kind in _TRAINING:
        yield subject.object.at("metadata", "namespace")
    elif subject.kind in _ALONE:
        yield from pods.pods_of(subject)


def _check_protected(place: Value | Pod, context: Context[ProtectedNamespace]) -> Iterator[Finding]:
    given, namespace = context.parameters, context.subject.object.at("metadata", "namespace")
    if not role_holders.is_in(namespace.text(), given.namespaces):
        return
    if isinstance(place, Value):
        what = "belongs to the cluster's own programs"
        yield place.finding(what, namespace.text(), "use the namespace of a team")
    elif role_holders.is_in(account := service_accounts.account_name(place), given.accounts):
        what = f"is the account of one of the programs of {namespace.text()}"
        fix = "name an account of its own, in another namespace"
        yield where_to_fix(service_accounts.account_of(place).finding(what, account, fix))


PROTECTED_NAMESPACE: Final = Rule(
    id="protected-namespace",
    title="Training must not run in the cluster's own namespaces, nor as its service accounts",
    severity=Severity.HIGH,
    kinds=_TRAINING | _ALONE,
    tags=("pod-security", "namespaces"),
    frameworks=("owasp-k8s/K03",),
    why=(
        "Controllers keep their Secrets, webhooks and accounts there: a pod in such a namespace can "
        "mount the Secrets and run as the accounts. Quotas and policies often leave it out."
    ),
    fix="Use the namespace of a team. To protect other namespaces, name them in `namespaces`.",
    places=_places,
    check=_check_protected,
    parameters=ProtectedNamespace,
)
