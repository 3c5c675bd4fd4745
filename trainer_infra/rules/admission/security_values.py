"""security-values: a security context has ids and policies that there are.

Source: Kubernetes' validation of pods (`validatePodSpecSecurityContext`, `ValidateSecurityContext`).
Rules of pod security say the rest: every profile, capability and kernel parameter that does not exist
is one that they do not allow. What belongs to Windows alone is not judged.
"""

from collections.abc import Iterator
from typing import Final

from trainer_infra.rules import pods
from trainer_infra.rules.admission import field
from trainer_infra.rules.name_syntax import RELATIVE_PATH
from trainer_infra.rules.pod_security import security_context
from trainer_infra.rules.pods import WORKLOADS, Pod, PodContainer
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject, Value

_ID: Final = field.number(0, 2**31 - 1)
_LOCAL: Final = "Localhost"
_NET: Final = "net."
_IPC: Final = ("kernel.shm", "kernel.msg", "kernel.sem", "fs.mqueue.")


def _profile(profile: Value) -> Iterator[Finding]:
    kind, file = profile["type"].text(), profile["localhostProfile"]
    if field.is_empty(profile["type"]):
        yield profile["type"].finding("is required")
    elif kind == _LOCAL and not file.is_there():
        yield file.finding(f"is required where the type is {_LOCAL}")
    elif kind and kind != _LOCAL and file.is_there():
        yield file.finding(f"must not be written where the type is {kind}", file.text())


def _trimmed(file: Value) -> Iterator[Finding]:
    if file.raw == "":
        yield file.finding("is required")
    elif file.text() != file.text().strip():
        yield file.finding("must have no blanks at its ends", file.text())


_CONTEXT: Final = field.fields(
    {
        **dict.fromkeys(("runAsUser", "runAsGroup", "fsGroup"), _ID),
        "supplementalGroups": field.items(_ID),
        "fsGroupChangePolicy": field.choice("Always", "OnRootMismatch", is_optional=False),
        "supplementalGroupsPolicy": field.choice("Merge", "Strict", is_optional=False),
        "seLinuxChangePolicy": field.choice("MountOption", "Recursive", is_optional=False),
        "seccompProfile": field.every(
            _profile, field.fields({"localhostProfile": field.text(RELATIVE_PATH)})
        ),
        "appArmorProfile": field.every(_profile, field.fields({"localhostProfile": _trimmed})),
        "sysctls": field.every(field.items(field.required("name")), field.unique("name")),
    }
)


def _places(subject: Subject) -> Iterator[Pod | PodContainer]:
    yield from pods.pods_of(subject)
    for container in pods.containers(subject):
        if container.value["securityContext"].raw:
            yield container


def _check(place: Pod | PodContainer, context: Context[Parameters]) -> Iterator[Finding]:
    found = _of_pod(place) if isinstance(place, Pod) else _of_container(place)
    yield from field.unsaid(found, context)


def _of_container(place: PodContainer) -> Iterator[Finding]:
    yield from field.found_in(place.value["securityContext"], _CONTEXT)
    privileged = security_context.own_value(place, "privileged")
    escalation = security_context.own_value(place, "allowPrivilegeEscalation")
    if privileged.flag() and escalation.flag() is False:
        what = "must not be false where the container is privileged"
        yield escalation.finding(what, None, "remove one of the two")


def _of_pod(pod: Pod) -> Iterator[Finding]:
    context = pod.spec["securityContext"]
    yield from field.found_in(context, _CONTEXT)
    shared = pod.spec["shareProcessNamespace"]
    if shared.flag() and pod.spec["hostPID"].flag():
        yield shared.finding("must not be true beside hostPID", None, "remove one of the two")
    for each in context["sysctls"].items():
        name = each["name"].text().replace("/", ".")
        for place, prefixes in (("hostNetwork", (_NET,)), ("hostIPC", _IPC)):
            if name.startswith(prefixes) and pod.spec[place].flag():
                yield each["name"].finding(f"must not be set beside {place}", each["name"].text())


RULE: Final = Rule(
    id="security-values",
    title="Security contexts have ids and policies that there are",
    severity=Severity.HIGH,
    kinds=WORKLOADS,
    tags=("admission",),
    why="The API server refuses each of the pods, and the job waits for ever.",
    fix="Write ids from 0 to 2147483647, and a profile's file for the type Localhost alone.",
    places=_places,
    check=_check,
)
