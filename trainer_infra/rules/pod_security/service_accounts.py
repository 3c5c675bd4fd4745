"""The service account of a pod, and whether a token of it is mounted: by itself, projected, or kept in a Secret."""

import re
from collections.abc import Iterator
from typing import Final

from trainer_infra.catalog import data_cache
from trainer_infra.rules import pods
from trainer_infra.rules.finding import where_to_fix
from trainer_infra.rules.pod_security import role_holders
from trainer_infra.rules.pod_security.role_holders import RoleHolder, TrustedHolders
from trainer_infra.rules.pods import Pod
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject, Value
from trainer_infra.rules.value import present
from trainer_infra.rules.world import World

DEFAULT: Final = "default"
"""The account that every namespace has and every pod gets that names none."""
_KIND: Final = "ServiceAccount"
_AUTOMOUNT: Final = "automountServiceAccountToken"
_PROJECTED: Final = "serviceAccountToken"
_KEEPER: Final = "Secret"
_FOREVER: Final = "kubernetes.io/service-account-token"
_OF_OLD: Final = re.compile(r".+-token-[a-z0-9]{5}", re.ASCII)
"""How Kubernetes before 1.24 called the Secret that it made for each account."""
_API_SERVER: Final = re.compile(
    r"(https://)?(kubernetes\.default(\.svc(\.[a-z0-9.-]+)?)?/?"
    r"|container\.googleapis\.com/v1/.+|oidc\.eks\.[a-z0-9.-]+/id/.+)",
    re.ASCII,
)
"""Audiences that the API server takes for its own; a token without one is for it, too."""


def account_of(pod: Pod) -> Value:
    """Where the account's name stands; a pod may have it in a field of an older name."""
    name, older = pod.spec["serviceAccountName"], pod.spec["serviceAccount"]
    return older if not name.text() and older.text() else name


def account_name(pod: Pod) -> str:
    """The account's name."""
    return account_of(pod).text() or DEFAULT


def mounts_token(pod: Pod, subject: Subject, world: World) -> bool:
    """Whether the token is mounted: what the pod says, else its account, else it is."""
    if pod.spec[_AUTOMOUNT].is_there():
        return pod.spec[_AUTOMOUNT].flag() is not False
    account = world.get(_KIND, account_name(pod), subject.namespace)
    return account is None or account.object[_AUTOMOUNT].flag() is not False


def _other_tokens(pod: Pod, subject: Subject, world: World) -> Iterator[Value]:
    """Where else a pod gets a token for the cluster."""
    for owner, value in subject.once(_credentials):
        if owner is pod and _is_token(value, subject, world):
            yield value


def _credentials(subject: Subject) -> Iterator[tuple[Pod, Value]]:
    """Projected tokens, and names of Secrets, each with whose pods get them."""
    for pod in pods.pods_of(subject):
        for volume in pod.spec["volumes"].items():
            found = [volume.at("secret", "secretName")]
            for each in volume.at("projected", "sources").items():
                found += (each[_PROJECTED], each.at("secret", "name"))
            yield from ((pod, each) for each in present(found))
    for container in pods.containers(subject):
        variables, whole = container.value["env"].items(), container.value["envFrom"].items()
        sources = present(each["valueFrom"] for each in variables)
        found = [each.at("secretKeyRef", "name") for each in sources]
        found += (each.at("secretRef", "name") for each in whole)
        yield from ((container.pod, each) for each in present(found))


def _is_token(value: Value, subject: Subject, world: World) -> bool:
    """Whether a projected token is for the cluster, or a Secret of that name keeps one."""
    if value.path[-1] == _PROJECTED:
        audience = value["audience"].text()
        return not audience or _API_SERVER.fullmatch(audience) is not None
    known = world.get(_KEEPER, value.text(), subject.namespace)
    if known is not None:
        return known.object["type"].text() == _FOREVER
    return _OF_OLD.fullmatch(value.text()) is not None


_CLOUD: Final = (
    *("eks.amazonaws.com/role-arn", "iam.gke.io/gcp-service-account"),
    *("azure.workload.identity/client-id", "iam.amazonaws.com/role"),
)
"""Annotations that give an account an identity in a cloud."""


def _places_of_accounts(subject: Subject) -> Iterator[Pod | Value]:
    yield from pods.pods_of(subject)
    if subject.kind in role_holders.BINDINGS:
        yield from subject.object["subjects"].items()
    elif subject.kind == _KIND and subject.name == DEFAULT:
        annotations = subject.object.at("metadata", "annotations")
        yield from present(annotations[each] for each in _CLOUD)


def _check_account(place: Pod | Value, context: Context[TrustedHolders]) -> Iterator[Finding]:
    subject = context.subject
    if isinstance(place, Pod):
        seen = (place, subject, context.world)
        if account_name(place) == DEFAULT and (mounts_token(*seen) or any(_other_tokens(*seen))):
            account = account_of(place)
            what = "gives the pod the token of an account that the whole namespace shares"
            fix = "name an account of its own, or set automountServiceAccountToken to false"
            yield where_to_fix(account.finding(what, account.text() or None, fix))
    elif subject.kind == _KIND:
        what = "gives every pod that names no account an identity in the cloud"
        yield place.finding(what, place.text(), "give it to an account of its own")
    elif RoleHolder.DEFAULT is role_holders.holder(place, subject.namespace, context.parameters):
        what = "gives the role to every pod that names no account"
        fix = "bind the role to an account that only the pods that need it name"
        yield place["name"].finding(what, place["name"].text(), fix)


DEFAULT_SERVICE_ACCOUNT: Final = Rule(
    id="default-service-account",
    title="Pods with a token must use a service account of their own",
    severity=Severity.LOW,
    kinds=pods.ALL_WITH_PODS | role_holders.BINDINGS | {_KIND},
    tags=("pod-security", "secrets"),
    frameworks=("cis-kubernetes/5.1.5", "owasp-k8s/K01"),
    why=(
        "Every pod of the namespace, training code included, gets whatever rights anyone ever "
        "grants to the account `default`."
    ),
    fix="Name an account in `serviceAccountName`, or set `automountServiceAccountToken` to false.",
    places=_places_of_accounts,
    check=_check_account,
    looks_around=True,
    parameters=TrustedHolders,
)


class ServiceAccountToken(Parameters):
    """Who needs a token."""

    needed_by: tuple[str, ...] = (data_cache.SERVICE_ACCOUNT,)
    """Accounts whose pods talk to the cluster. Progress reports have a token of their own."""


def _places_of_tokens(subject: Subject) -> Iterator[Pod | Value]:
    yield from pods.pods_of(subject)
    if subject.kind == _KEEPER:
        yield subject.object["type"]


def _check_token(place: Pod | Value, context: Context[ServiceAccountToken]) -> Iterator[Finding]:
    if isinstance(place, Value):
        if place.text() == _FOREVER:
            fix = "remove it, and project a token into the pod, or use `kubectl create token`"
            yield place.finding("keeps a token that never expires", place.text(), fix)
        return
    if account_name(place) in context.parameters.needed_by:
        return
    for token in _other_tokens(place, context.subject, context.world):
        fix = "name its account in neededBy, or remove it; for another service, name its audience"
        yield where_to_fix(token.finding("gives the pod a token for the cluster", None, fix))
    if mounts_token(place, context.subject, context.world):
        automount = place.spec[_AUTOMOUNT]
        fix = "name its account in neededBy, or set automountServiceAccountToken to false"
        what = "gives the pod a token for the cluster"
        yield where_to_fix(automount.finding(what, automount.flag(), fix), "in the runtime")


SERVICE_ACCOUNT_TOKEN: Final = Rule(
    id="service-account-token",
    title="Only pods that talk to the cluster may have a token for it",
    severity=Severity.LOW,
    kinds=pods.ALL_WITH_PODS | {_KEEPER},
    tags=("pod-security", "secrets"),
    frameworks=("cis-kubernetes/5.1.6", "owasp-k8s/K01"),
    why=(
        "Training code, and every package that it installs, can read the token and use it from "
        "anywhere. Progress reports do not need it: they have a token that is good for nothing "
        "else."
    ),
    fix="Set `automountServiceAccountToken` to false in the runtime's pods, and project tokens for other services only.",
    places=_places_of_tokens,
    check=_check_token,
    looks_around=True,
    parameters=ServiceAccountToken,
)
