"""app-armor: no container takes off the AppArmor profile of its node."""

from collections.abc import Iterator
from typing import Final

from trainer_infra.rules import pods
from trainer_infra.rules.pod_security import security_context
from trainer_infra.rules.pod_templates import WORKLOADS
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject, Value

_TYPES: Final = ("RuntimeDefault", "Localhost")
_ANNOTATION: Final = "container.apparmor.security.beta.kubernetes.io/"
"""Before the name of a container: where the profile stood until Kubernetes 1.30, and still may."""
_IN_ANNOTATIONS: Final = "runtime/default"
_LOCAL: Final = "localhost/"


def _places(subject: Subject) -> Iterator[Value]:
    for context in security_context.security_contexts(subject):
        yield context.at("appArmorProfile", "type")
    for pod in pods.pods_of(subject):
        for key, profile in pod.template.at("metadata", "annotations").fields():
            if key.startswith(_ANNOTATION):
                yield profile


def _check(place: Value, _context: Context[Parameters]) -> Iterator[Finding]:
    if str(place.path[-1]).startswith(_ANNOTATION):
        usual = _IN_ANNOTATIONS
        is_kept = place.text() in ("", usual) or place.text().startswith(_LOCAL)
    else:
        usual, is_kept = _TYPES[0], not place.is_there() or place.text() in _TYPES
    if not is_kept:
        what = "takes off the node's AppArmor profile"
        yield place.finding(what, place.text(), f"set it to {usual}", place.set_to(usual))


RULE: Final = Rule(
    id="app-armor",
    title="No AppArmor profile is switched off",
    severity=Severity.HIGH,
    kinds=WORKLOADS,
    tags=("pod-security",),
    frameworks=("pod-security-standards/baseline", "owasp-k8s/K01"),
    why=(
        "The profile keeps a container from mounting, tracing and writing where only its node may. "
        "A namespace of the level baseline admits no pod without it."
    ),
    fix="Leave it out, or set `appArmorProfile.type` to `RuntimeDefault`.",
    places=_places,
    check=_check,
    remediates=True,
)
