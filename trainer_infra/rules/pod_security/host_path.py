"""host-path: a pod mounts no folder of its node."""

from collections.abc import Iterator
from typing import Final

from trainer_infra.rules import pods
from trainer_infra.rules.pod_templates import WORKLOADS
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject, Value

_UP: Final = ".."


class HostPath(Parameters):
    """What folders of a node may be mounted."""

    allow: tuple[str, ...] = ()
    """Folders that may be mounted, with all that is in them: `/mnt/nvme`."""


def _places(subject: Subject) -> Iterator[Value]:
    for pod in pods.pods_of(subject):
        for volume in pod.spec["volumes"].items():
            yield volume.at("hostPath", "path")


def _check(place: Value, context: Context[HostPath]) -> Iterator[Finding]:
    allow = context.parameters.allow
    if place.text() and not any(_is_in(place.text(), each) for each in allow):
        other = f"a folder in {' or '.join(allow)}, or " if allow else ""
        fix = f"use {other}a PersistentVolumeClaim, or an emptyDir for what need not last"
        yield place.finding("is a folder of the node", place.text(), fix)


def _is_in(path: str, folder: str) -> bool:
    parts, allowed = _parts(path), _parts(folder)
    return _UP not in parts and parts[: len(allowed)] == allowed


def _parts(path: str) -> tuple[str, ...]:
    return tuple(each for each in path.split("/") if each not in ("", "."))


RULE: Final = Rule(
    id="host-path",
    title="Pods mount no folder of their node",
    severity=Severity.HIGH,
    kinds=WORKLOADS,
    tags=("pod-security", "volumes"),
    frameworks=("pod-security-standards/baseline", "cis-kubernetes/5.2.12", "owasp-k8s/K01"),
    why=(
        "Through a folder of the node a pod reads what others keep there, or takes the node over; "
        "and what it writes is gone when it restarts on another one."
    ),
    fix="Use a PersistentVolumeClaim or an emptyDir, or put the folder in `allow`.",
    places=_places,
    check=_check,
    parameters=HostPath,
)
