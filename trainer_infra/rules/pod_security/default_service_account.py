"""default-service-account: a pod that gets a token has a service account of its own."""

from collections.abc import Iterator
from typing import Final

from trainer_infra.rules import pods
from trainer_infra.rules.pod_security import service_account
from trainer_infra.rules.pod_security.where_to_fix import where_to_fix
from trainer_infra.rules.pods import WORKLOADS, Pod
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity


def _check(place: Pod, context: Context[Parameters]) -> Iterator[Finding]:
    if service_account.name(place) != service_account.DEFAULT:
        return
    if service_account.mounts_token(place, context.subject, context.world):
        account = place.spec["serviceAccountName"]
        what = "gives the pod the token of an account that the whole namespace shares"
        fix = "name an account of its own, or set automountServiceAccountToken to false"
        yield where_to_fix(account.finding(what, account.text() or None, fix))


RULE: Final = Rule(
    id="default-service-account",
    title="Pods that get a token have a service account of their own",
    severity=Severity.LOW,
    kinds=WORKLOADS,
    tags=("pod-security", "secrets"),
    frameworks=("cis-kubernetes/5.1.5", "owasp-k8s/K01"),
    why=(
        "Whatever anybody ever allows the account `default` to do, every pod of the namespace may "
        "do, also the training code."
    ),
    fix="Name an account in `serviceAccountName`, or set `automountServiceAccountToken` to false.",
    places=pods.pods_of,
    check=_check,
    looks_around=True,
)
