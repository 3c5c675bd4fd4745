"""service-account-token: a pod that does not talk to the cluster gets no token for it."""

from collections.abc import Iterator
from typing import Final

from trainer_infra.catalog import data_cache
from trainer_infra.rules import pods
from trainer_infra.rules.pod_security import service_account
from trainer_infra.rules.pod_security.where_to_fix import where_to_fix
from trainer_infra.rules.pods import WORKLOADS, Pod
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity


class ServiceAccountToken(Parameters):
    """Who needs a token."""

    needed_by: tuple[str, ...] = (data_cache.SERVICE_ACCOUNT,)
    """Accounts whose pods talk to the cluster. Progress reports have a token of their own."""


def _check(place: Pod, context: Context[ServiceAccountToken]) -> Iterator[Finding]:
    if service_account.name(place) in context.parameters.needed_by:
        return
    if service_account.mounts_token(place, context.subject, context.world):
        automount = service_account.automount(place)
        fix = "name its account in neededBy, or set automountServiceAccountToken to false"
        what = "gives the pod a token for the cluster"
        yield where_to_fix(automount.finding(what, automount.flag(), fix), "in the runtime")


RULE: Final = Rule(
    id="service-account-token",
    title="Only pods that talk to the cluster get a token for it",
    severity=Severity.LOW,
    kinds=WORKLOADS,
    tags=("pod-security", "secrets"),
    frameworks=("cis-kubernetes/5.1.6", "owasp-k8s/K01"),
    why=(
        "Training code, and every package that it installs, can read the token and use it from "
        "anywhere. Progress reports do not need it: they have one that is good for nothing else."
    ),
    fix="Set `automountServiceAccountToken` to false in the runtime's pods.",
    places=pods.pods_of,
    check=_check,
    looks_around=True,
    parameters=ServiceAccountToken,
)
