"""label-syntax: labels and annotations of pods are ones that Kubernetes can keep.

Source: Kubernetes' validation of metadata (`ValidateLabels`, `ValidateAnnotations`) and of the
annotations of pods (`ValidatePodSpecificAnnotations`).
"""

import re
from collections.abc import Iterator
from typing import Final

from trainer_infra import names
from trainer_infra.rules import pods
from trainer_infra.rules.admission import field, label_selectors
from trainer_infra.rules.name_syntax import ANNOTATION_KEY
from trainer_infra.rules.pods import WORKLOADS, Pod
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject, Value

_LARGEST: Final = 256 * 1024
_COST: Final = "controller.kubernetes.io/pod-deletion-cost"
_COST_SYNTAX: Final = re.compile(r"0|-?[1-9][0-9]*", re.ASCII)
_APP_ARMOR: Final = "container.apparmor.security.beta.kubernetes.io/"
_SECCOMP: Final = (
    "seccomp.security.alpha.kubernetes.io/pod",
    "container.seccomp.security.alpha.kubernetes.io/",
)
_PROFILES: Final = ("runtime/default", "docker/default", "unconfined")
_LOCAL: Final = "localhost/"


def _annotations(place: Value) -> Iterator[Finding]:
    size = 0
    for key, value in place.fields():
        size += len(key) + len(value.raw if isinstance(value.raw, str) else "")
        if not ANNOTATION_KEY.fits(key):
            yield value.finding(f"has a key that must be {ANNOTATION_KEY.words}", key)
    if size > _LARGEST:
        yield place.finding(f"must have at most {_LARGEST} characters in all, has {size}")


_METADATA: Final = field.fields({"labels": label_selectors.labels, "annotations": _annotations})


def _places(subject: Subject) -> Iterator[Pod | Value]:
    if subject.kind not in names.WITH_PODS:
        yield subject.object["metadata"]
    for pod in pods.pods_of(subject):
        if pod.template["metadata"].raw:
            yield pod


def _check(place: Pod | Value, context: Context[Parameters]) -> Iterator[Finding]:
    is_pod = isinstance(place, Pod)
    metadata = place.template["metadata"] if isinstance(place, Pod) else place
    if not (is_pod and metadata.path == ("metadata",)):
        yield from field.unsaid(field.found_in(metadata, _METADATA), context)
    if isinstance(place, Pod):
        yield from _of_pod(place)


def _of_pod(pod: Pod) -> Iterator[Finding]:
    for key, value in pod.template.at("metadata", "annotations").fields():
        if key == _COST:
            said = value.text()
            if not _COST_SYNTAX.fullmatch(said) or not -(2**31) <= int(said) < 2**31:
                yield value.finding("must be a whole number of 32 bits", said)
        elif key.startswith(_APP_ARMOR):
            if key.removeprefix(_APP_ARMOR) not in _container_names(pod):
                yield value.finding("names no container of the pod", key)
        elif key.startswith(_SECCOMP) and not _is_profile(value.text()):
            yield value.finding("is no seccomp profile", value.text(), "use seccompProfile")


def _container_names(pod: Pod) -> set[str]:
    lists = (pod.spec[key] for key in ("containers", "initContainers", "ephemeralContainers"))
    return {each["name"].text() for one in lists for each in field.all_items(one)}


def _is_profile(text: str) -> bool:
    return text in _PROFILES or text.startswith(_LOCAL)


RULE: Final = Rule(
    id="label-syntax",
    title="Labels and annotations of pods are ones that Kubernetes can keep",
    severity=Severity.HIGH,
    kinds=WORKLOADS,
    tags=("admission", "metadata"),
    why="The API server refuses each of the pods, and the job waits for ever.",
    fix="Write values of at most 63 letters, digits, -, _ and ., with a letter or digit at both ends.",
    places=_places,
    check=_check,
)
