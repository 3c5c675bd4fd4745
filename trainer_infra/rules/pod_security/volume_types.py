"""volume-types: a pod mounts only kinds of volumes that a cluster's administrator can bound."""

from collections.abc import Iterator
from typing import Final

from trainer_infra.rules import pods
from trainer_infra.rules.pod_security.where_to_fix import where_to_fix
from trainer_infra.rules.pod_templates import WORKLOADS
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject, Value

_ALLOWED: Final = frozenset((
    "configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "image", "persistentVolumeClaim",
    "projected", "secret",
))  # fmt: skip
_HOST_PATH: Final = "hostPath"
"""That of host-path."""


def _places(subject: Subject) -> Iterator[Value]:
    for pod in pods.pods_of(subject):
        yield from pod.spec["volumes"].items()


def _check(place: Value, _context: Context[Parameters]) -> Iterator[Finding]:
    for kind, source in place.fields():
        if kind not in {"name", _HOST_PATH, *_ALLOWED} and source.is_there():
            fix = "mount it through a PersistentVolumeClaim"
            yield where_to_fix(source.finding(f"is a volume of kind {kind}", None, fix))


RULE: Final = Rule(
    id="volume-types",
    title="Pods mount only bounded kinds of volumes",
    severity=Severity.MEDIUM,
    kinds=WORKLOADS,
    tags=("pod-security", "volumes"),
    frameworks=("pod-security-standards/restricted", "owasp-k8s/K01"),
    why=(
        "A volume that names its server itself, such as nfs, mounts whatever its author likes, past "
        "every quota and storage class."
    ),
    fix="Use a PersistentVolumeClaim of a storage class that has the same data.",
    places=_places,
    check=_check,
)
