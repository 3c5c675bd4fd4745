"""The service account of a pod, and whether its token is mounted."""

from collections.abc import Iterator
from typing import Final

from trainer_infra.catalog import data_cache
from trainer_infra.rules import pods
from trainer_infra.rules.finding import where_to_fix
from trainer_infra.rules.pods import ALL_WITH_PODS as WORKLOADS
from trainer_infra.rules.pods import Pod
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject
from trainer_infra.rules.world import World

DEFAULT: Final = "default"
"""The account that every namespace has and every pod gets that names none."""
_KIND: Final = "ServiceAccount"
_AUTOMOUNT: Final = "automountServiceAccountToken"


def account_name(pod: Pod) -> str:
    """The account's name; a pod may have it in a field of an older name."""
    spec = pod.spec
    return spec["serviceAccountName"].text() or spec["serviceAccount"].text() or DEFAULT


def mounts_token(pod: Pod, subject: Subject, world: World) -> bool:
    """Whether the token is mounted: what the pod says, else its account, else it is."""
    if pod.spec[_AUTOMOUNT].is_there():
        return pod.spec[_AUTOMOUNT].flag() is not False
    account = world.get(_KIND, account_name(pod), subject.namespace)
    return account is None or account.object[_AUTOMOUNT].flag() is not False


def _check_account(place: Pod, context: Context[Parameters]) -> Iterator[Finding]:
    if account_name(place) != DEFAULT:
        return
    if mounts_token(place, context.subject, context.world):
        account = place.spec["serviceAccountName"]
        what = "gives the pod the token of an account that the whole namespace shares"
        fix = "name an account of its own, or set automountServiceAccountToken to false"
        yield where_to_fix(account.finding(what, account.text() or None, fix))


DEFAULT_SERVICE_ACCOUNT: Final = Rule(
    id="default-service-account",
    title="Pods with a token must use a service account of their own",
    severity=Severity.LOW,
    kinds=WORKLOADS,
    tags=("pod-security", "secrets"),
    frameworks=("cis-kubernetes/5.1.5", "owasp-k8s/K01"),
    why=(
        "Every pod of the namespace, training code included, gets whatever rights anyone ever "
        "grants to the account `default`."
    ),
    fix="Name an account in `serviceAccountName`, or set `automountServiceAccountToken` to false.",
    places=pods.pods_of,
    check=_check_account,
    looks_around=True,
)


class ServiceAccountToken(Parameters):
    """Who needs a token."""

    needed_by: tuple[str, ...] = (data_cache.SERVICE_ACCOUNT,)
    """Accounts whose pods talk to the cluster. Progress reports have a token of their own."""


def _check_token(place: Pod, context: Context[ServiceAccountToken]) -> Iterator[Finding]:
    if account_name(place) in context.parameters.needed_by:
        return
    if mounts_token(place, context.subject, context.world):
        automount = place.spec[_AUTOMOUNT]
        fix = "name its account in neededBy, or set automountServiceAccountToken to false"
        what = "gives the pod a token for the cluster"
        yield where_to_fix(automount.finding(what, automount.flag(), fix), "in the runtime")


SERVICE_ACCOUNT_TOKEN: Final = Rule(
    id="service-account-token",
    title="Only pods that talk to the cluster may have a token for it",
    severity=Severity.LOW,
    kinds=WORKLOADS,
    tags=("pod-security", "secrets"),
    frameworks=("cis-kubernetes/5.1.6", "owasp-k8s/K01"),
    why=(
        "Training code, and every package that it installs, can read the token and use it from "
        "anywhere. Progress reports do not need it: they have a token that is good for nothing "
        "else."
    ),
    fix="Set `automountServiceAccountToken` to false in the runtime's pods.",
    places=pods.pods_of,
    check=_check_token,
    looks_around=True,
    parameters=ServiceAccountToken,
)
