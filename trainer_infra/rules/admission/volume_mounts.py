"""volume-mounts: a container mounts volumes of its pod, each at a place of its own.

Source: Kubernetes' validation of pods (`ValidateVolumeMounts`, `ValidateVolumeDevices`). JobSet, a
StatefulSet and a LeaderWorkerSet add a volume for each claim that they make. What an initializer's container mounts is
judged by `initializer-mount`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from trainer_infra import names
from trainer_infra.api.finding import Path
from trainer_infra.rules import pods
from trainer_infra.rules.admission import field
from trainer_infra.rules.name_syntax import PATH_WITHOUT_STEPS_UP, RELATIVE_PATH
from trainer_infra.rules.pods import WORKLOADS, PodContainer
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject, Value

_BOTH_WAYS: Final = "Bidirectional"
_NONE: Final = "None"
_READ_ONLY: Final = ("Enabled", "IfPossible")
_CLAIMS: Final[tuple[Path, ...]] = (
    ("spec", "volumeClaimTemplates"),
    ("spec", "leaderWorkerTemplate", "volumeClaimTemplates"),
)
_OF_BLOCKS: Final = ("persistentVolumeClaim", "ephemeral")


@dataclass(frozen=True, slots=True)
class MountingContainer:
    """A container that mounts something."""

    container: PodContainer
    """The container."""
    claims: tuple[Value, ...]
    """The claims that its controller makes for the pod."""


def _places(subject: Subject) -> Iterator[MountingContainer]:
    claims: tuple[Value, ...] | None = None
    for each in pods.containers(subject):
        if each.value["volumeMounts"].raw or each.value["volumeDevices"].raw:
            claims = tuple(_claims(subject)) if claims is None else claims
            yield MountingContainer(each, claims)


def _claims(subject: Subject) -> Iterator[Value]:
    for path in _CLAIMS:
        yield from field.all_items(subject.object.at(*path))
    for spec in pods.jobsets(subject):
        for policy in field.all_items(spec["volumeClaimPolicies"]):
            yield from field.all_items(policy["templates"])


def _check(place: MountingContainer, context: Context[Parameters]) -> Iterator[Finding]:
    yield from field.unsaid(_of_container(place, context.subject.kind), context)


def _of_container(place: MountingContainer, kind: str) -> Iterator[Finding]:
    container = place.container
    mounts, devices = container.value["volumeMounts"], container.value["volumeDevices"]
    yield from field.found_in(mounts, _MOUNTS)
    yield from field.found_in(devices, _DEVICES)
    yield from field.found_in(mounts, lambda each: _beside(each, devices))
    if container.value.at("securityContext", "privileged").flag() is not True:
        yield from field.found_in(mounts, _not_privileged)
    yield from _of_volumes(place, kind)


def _of_volumes(place: MountingContainer, kind: str) -> Iterator[Finding]:
    """What is mounted is a volume of the pod, and what is a device is a claim."""
    pod, container = place.container.pod, place.container.value
    volumes_by_name = {each["name"].text(): each for each in field.all_items(pod.spec["volumes"])}
    known = {*volumes_by_name, *(each.at("metadata", "name").text() for each in place.claims)}
    said_elsewhere = names.INITIALIZER_VOLUME if kind in names.WITH_PODS else None
    for mount in (*container["volumeMounts"].items(), *container["volumeDevices"].items()):
        name = mount["name"]
        if name.text() and name.text() not in known and name.text() != said_elsewhere:
            fix = "add a volume of that name to the pod, or remove the mount"
            yield name.finding("is no volume of the pod", name.text(), fix)
    for device in container["volumeDevices"].items():
        volume = volumes_by_name.get(device["name"].text())
        if volume is not None and not any(volume[each].is_there() for each in _OF_BLOCKS):
            what = "must be a claim to be a device"
            yield device["name"].finding(what, device["name"].text())


def _beside(mounts: Value, devices: Value) -> Iterator[Finding]:
    """No volume is mounted and a device at once, and no two are at one place."""
    seen: dict[str, set[str]] = {"name": set(), "devicePath": set()}
    for each in devices.items():
        for key, known in seen.items():
            known.add(each[key].text())
    for mount in mounts.items():
        for key, other in (("name", "name"), ("mountPath", "devicePath")):
            said = mount[key].text()
            if said and said in seen[other]:
                yield mount[key].finding("is in volumeDevices, too", said)


def _not_privileged(mounts: Value) -> Iterator[Finding]:
    for each in mounts.items():
        propagation = each["mountPropagation"]
        if propagation.text() == _BOTH_WAYS:
            yield propagation.finding("is for privileged containers alone", _BOTH_WAYS)


def _read_only(mount: Value) -> Iterator[Finding]:
    said = mount["recursiveReadOnly"]
    if said.text() not in _READ_ONLY:
        return
    if mount["readOnly"].flag() is not True:
        yield said.finding("needs readOnly: true", said.text())
    if mount["mountPropagation"].text() not in ("", _NONE):
        yield said.finding("needs a mountPropagation of None", said.text())


_SUB_PATH: Final = field.text(RELATIVE_PATH)
_MOUNTS: Final = field.every(
    field.items(
        field.every(
            field.required("name", "mountPath"),
            field.one_of("subPath", "subPathExpr", is_optional=True),
            field.fields(
                {
                    "subPath": _SUB_PATH,
                    "subPathExpr": _SUB_PATH,
                    "mountPropagation": field.choice(
                        _BOTH_WAYS, "HostToContainer", _NONE, is_optional=False
                    ),
                    "recursiveReadOnly": field.choice(*_READ_ONLY, "Disabled", is_optional=False),
                }
            ),
            _read_only,
        )
    ),
    field.unique("mountPath"),
)
_DEVICES: Final = field.every(
    field.items(
        field.every(
            field.required("name", "devicePath"),
            field.fields({"devicePath": field.text(PATH_WITHOUT_STEPS_UP)}),
        )
    ),
    field.unique("name"),
    field.unique("devicePath"),
)

RULE: Final = Rule(
    id="volume-mounts",
    title="Containers mount volumes that the pod has, each at a place of its own",
    severity=Severity.HIGH,
    kinds=WORKLOADS,
    tags=("admission", "volumes"),
    why="The API server refuses each of the pods, and the job waits for ever.",
    fix="Give the pod a volume of that name, or take the mount away.",
    places=_places,
    check=_check,
)
