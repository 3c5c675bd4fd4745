"""Forms of containers: what Kubernetes' validation of pods demands of each beyond the types of its fields.

Source: Kubernetes' validation of pods (`validateContainers`, `validateContainerCommon`, `validateResizePolicy`,
`validateContainerPorts`, `ValidateEnv`, `ValidateEnvFrom`, `validateObjectFieldSelector`,
`validateContainerResourceFieldSelector`, `validateProbe`, `validateHandler`, `validateLifecycle`,
`ValidateSecurityContext`, `ValidateVolumeMounts`, `ValidateVolumeDevices`), of v1.34. Kubernetes 1.35 takes other
restart policies than Always from init containers, and any from the others; those are not findings. Names of
variables are those of 1.34 and later, which takes all of printable ASCII.
"""

import re
from typing import Any, Final

from trainer_infra.api.shape import form, syntax
from trainer_infra.api.shape.form import (
    JSON,
    asked,
    choice,
    every,
    fields,
    forbidden,
    items,
    needs,
    number,
    one_of,
    part_of,
    required,
    text,
    unique,
)
from trainer_infra.api.shape.schema_rules import Broken, BrokenRule
from trainer_infra.api.shape.walk import REMOVE, Schema
from trainer_infra.words import listed

_HIGHEST_PORT: Final = 65535
_ALWAYS: Final = "Always"
LEFT_ALONE: Final = "NotRequired"
RESTARTED: Final = "RestartContainer"
_PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")
_COUNTS: Final = (
    *("initialDelaySeconds", "timeoutSeconds", "periodSeconds"),
    *("failureThreshold", "successThreshold"),
)
MOMENTS: Final = ("postStart", "preStop")
_POLICY: Final = every(
    required("resourceName", "restartPolicy"),
    fields(resourceName=choice("cpu", "memory"), restartPolicy=choice(LEFT_ALONE, RESTARTED)),
)
NAMED: Final = needs(
    "name",
    name=text(syntax.DNS_LABEL),
    imagePullPolicy=choice(_ALWAYS, "IfNotPresent", "Never"),
    terminationMessagePolicy=choice("File", "FallbackToLogsOnError"),
    restartPolicy=choice(_ALWAYS, "OnFailure", "Never", is_optional=False),
    resizePolicy=every(items(_POLICY), unique("resourceName")),
)
"""A container's name and policies."""
_PORT: Final = needs(
    "containerPort",
    name=text(syntax.PORT_NAME),
    containerPort=number(1, _HIGHEST_PORT),
    hostPort=number(0, _HIGHEST_PORT),
    protocol=choice("SCTP", "TCP", "UDP"),
)
PORTS: Final = fields(ports=every(items(_PORT), unique("name")))
"""A container's ports."""

_OF_BOTH: Final = ("metadata.name", "metadata.namespace", "metadata.uid")
_OF_VARIABLES: Final = (
    *_OF_BOTH,
    *("spec.nodeName", "spec.serviceAccountName"),
    *("status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"),
)
_OF_FILES: Final = (*_OF_BOTH, "metadata.labels", "metadata.annotations")
_RESOURCES: Final = ("cpu", "memory", "ephemeral-storage")
_TOLD: Final = tuple(f"{part}.{each}" for part in ("limits", "requests") for each in _RESOURCES)
_PAGES: Final = ("limits.hugepages-", "requests.hugepages-")
_KEYED: Final = re.compile(r"(?P<map>[^\[]+)\['(?P<key>.*)'\]", re.DOTALL)
_OF_CPU: Final = frozenset((1, 1000))
"""Divisors of cpu, in thousandths."""
_OF_BYTES: Final = frozenset(base**power for base in (1000, 1024) for power in range(7))


def _field_of(known: tuple[str, ...]) -> Schema:
    def broken(path: str) -> Broken:
        if path and not _is_field(path, known):
            fix = f"write {listed(known, 'or')}, or metadata.labels['KEY']"
            yield BrokenRule((), path, "is not a field that a pod exposes", fix)

    return needs("fieldPath", apiVersion=choice("v1"), fieldPath=asked(broken))


def _is_field(path: str, known: tuple[str, ...]) -> bool:
    keyed = _KEYED.fullmatch(path)
    if keyed is None:
        return path in known
    match keyed["map"]:
        case "metadata.labels":
            return syntax.QUALIFIED_NAME.fits(keyed["key"])
        case "metadata.annotations":
            return syntax.ANNOTATION_KEY.fits(keyed["key"])
        case _:
            return False


def _is_told(resource: str) -> Broken:
    if resource and resource not in _TOLD and not resource.startswith(_PAGES):
        fix = f"write {listed(_TOLD, 'or')}"
        yield BrokenRule(
            (), resource, "is not something that a container can read about itself", fix
        )


def _divides(reference: JSON) -> Broken:
    resource, divisor = reference.get("resource"), reference.get("divisor")
    amount = form.amount_of(divisor)
    if not amount or not resource:
        return
    if resource.endswith(".cpu") and amount * 1000 not in _OF_CPU:
        yield BrokenRule(("divisor",), divisor, "must be 1 or 1m")
    if not resource.endswith(".cpu") and amount not in _OF_BYTES:
        yield BrokenRule(("divisor",), divisor, "must be 1 or one unit, such as 1Mi")


FIELD_OF_FILE: Final = _field_of(_OF_FILES)
"""The `fieldRef` of a file."""
_RESOURCE: Final = every(needs("resource", resource=asked(_is_told)), asked(_divides))
RESOURCE_OF_FILE: Final = every(required("containerName"), _RESOURCE)
"""The `resourceFieldRef` of a file, which must name its container."""
_KEY: Final = needs("name", "key", name=text(syntax.DNS_SUBDOMAIN), key=text(syntax.CONFIG_MAP_KEY))
_SOURCES: Final = {
    "fieldRef": _field_of(_OF_VARIABLES),
    "resourceFieldRef": _RESOURCE,
    "configMapKeyRef": _KEY,
    "secretKeyRef": _KEY,
    "fileKeyRef": needs(
        *("key", "volumeName", "path"),
        key=text(syntax.ENV_NAME),
        volumeName=text(syntax.DNS_LABEL),
        path=text(syntax.PATH_WITHOUT_STEPS_UP),
    ),
}
_PREFIX: Final = syntax.Syntax(
    syntax.DNS_SUBDOMAIN.words,
    lambda text: syntax.DNS_SUBDOMAIN.fits(f"{text[:-1]}a" if text[1:] else text),
)
"""A name of which Kubernetes judges only a beginning may end with -."""


def _one_value(variable: JSON) -> Broken:
    if variable.get("valueFrom") is not None and variable.get("value"):
        what = "must not be written beside value"
        yield BrokenRule(("valueFrom",), None, what, "remove one of the two")


_VARIABLE: Final = every(
    needs(
        "name", name=text(syntax.ENV_NAME), valueFrom=every(one_of(*_SOURCES), fields(**_SOURCES))
    ),
    asked(_one_value),
)
_NAMED_SOURCE: Final = needs("name", name=text(_PREFIX))
_ENV_FROM: Final = every(
    one_of("configMapRef", "secretRef"),
    fields(prefix=text(syntax.ENV_NAME), configMapRef=_NAMED_SOURCE, secretRef=_NAMED_SOURCE),
)
ENV: Final = fields(env=items(_VARIABLE), envFrom=items(_ENV_FROM))
"""A container's variables."""


def _port(port: Any) -> Broken:
    if isinstance(port, str) and port and not syntax.PORT_NAME.fits(port):
        fix = "write a port without quotes, or the name of one"
        yield BrokenRule((), port, f"must be {syntax.PORT_NAME.words}, or a number", fix)


_WITH_PORT: Final = needs("port", port=every(number(1, _HIGHEST_PORT), asked(_port)))
_HEADERS: Final = items(needs("name", name=text(syntax.HEADER_NAME)))
_HANDLERS: Final = {
    "exec": required("command", fix="write what is to be run"),
    "httpGet": every(_WITH_PORT, fields(scheme=choice("HTTP", "HTTPS"), httpHeaders=_HEADERS)),
    "tcpSocket": _WITH_PORT,
    "grpc": _WITH_PORT,
}
_PROBE: Final = every(
    one_of(*_HANDLERS),
    fields(
        **_HANDLERS,
        **dict.fromkeys(_COUNTS, number(0)),
        terminationGracePeriodSeconds=number(1),
    ),
)


def _is_one(threshold: int) -> Broken:
    if threshold > 1:
        yield BrokenRule((), threshold, "must be 1, but for a readinessProbe")


_ENDING: Final = every(_PROBE, fields(successThreshold=asked(_is_one)))
_ENDS_NOTHING: Final = forbidden("must not be written for a readinessProbe, which ends none")
_MOMENT: Final = every(one_of("exec", "httpGet", "tcpSocket", "sleep"), fields(**_HANDLERS))
PROBES: Final = fields(
    livenessProbe=_ENDING,
    startupProbe=_ENDING,
    readinessProbe=every(_PROBE, fields(terminationGracePeriodSeconds=_ENDS_NOTHING)),
    lifecycle=fields(**dict.fromkeys(MOMENTS, _MOMENT)),
)
"""A container's probes and moments."""


def _runs_to_end(container: JSON) -> Broken:
    found = [each for each in (*_PROBES, "lifecycle") if container.get(each) is not None]
    if found and container.get("restartPolicy") != _ALWAYS:
        what = "must not be written for an init container whose restartPolicy is not Always"
        yield from (BrokenRule((each,), None, what, REMOVE) for each in found)


PROBES_OF_INIT: Final = every(asked(_runs_to_end), PROBES)
"""Those of an init container, which has them only where it runs beside the others."""

_LOCAL: Final = "Localhost"


def _profile(profile: JSON) -> Broken:
    kind, file = profile.get("type"), profile.get("localhostProfile")
    if kind == _LOCAL and file is None:
        yield BrokenRule(("localhostProfile",), None, f"is required where the type is {_LOCAL}")
    elif isinstance(kind, str) and kind not in ("", _LOCAL) and file is not None:
        what = f"must not be written where the type is {kind}"
        yield BrokenRule(("localhostProfile",), file, what)


def _trimmed(file: str) -> Broken:
    if not file:
        yield BrokenRule(what="is required")
    elif file != file.strip():
        yield BrokenRule((), file, "must have no blanks at its ends")


_ID: Final = number(0, 2**31 - 1)
_PROFILE: Final = every(required("type"), asked(_profile))
SECURITY: Final = every(
    fields(
        **dict.fromkeys(("runAsUser", "runAsGroup", "fsGroup"), _ID),
        supplementalGroups=items(_ID),
        fsGroupChangePolicy=choice("Always", "OnRootMismatch", is_optional=False),
        supplementalGroupsPolicy=choice("Merge", "Strict", is_optional=False),
        seLinuxChangePolicy=choice("MountOption", "Recursive", is_optional=False),
        seccompProfile=every(_PROFILE, fields(localhostProfile=text(syntax.RELATIVE_PATH))),
        appArmorProfile=every(_PROFILE, fields(localhostProfile=asked(_trimmed))),
        sysctls=every(items(needs("name", name=text(syntax.KERNEL_PARAMETER))), unique("name")),
    )
)
"""A security context, of a pod or of a container. What belongs to Windows alone is not judged; every
profile and capability that does not exist is one that rules of pod security refuse."""


def _escalates(context: JSON) -> Broken:
    if context.get("privileged") and context.get("allowPrivilegeEscalation") is False:
        what = "must not be false where the container is privileged"
        yield BrokenRule(("allowPrivilegeEscalation",), None, what, "remove one of the two")


_BOTH_WAYS: Final = "Bidirectional"
_NONE: Final = "None"
_READ_ONLY: Final = ("Enabled", "IfPossible")


def _read_only(mount: JSON) -> Broken:
    said = mount.get("recursiveReadOnly")
    if said not in _READ_ONLY:
        return
    if mount.get("readOnly") is not True:
        yield BrokenRule(("recursiveReadOnly",), said, "needs readOnly: true")
    if mount.get("mountPropagation") not in (None, "", _NONE):
        yield BrokenRule(("recursiveReadOnly",), said, "needs a mountPropagation of None")


def _beside(container: JSON) -> Broken:
    """No volume is mounted and a device at once, and no two are at one place."""
    mounts = container.get("volumeMounts") or ()
    devices = container.get("volumeDevices") or () if mounts else ()
    for key, other in (("name", "name"), ("mountPath", "devicePath")):
        taken = {each.get(other) for each in devices}
        for index, mount in enumerate(mounts if taken else ()):
            if mount.get(key) and mount.get(key) in taken:
                yield BrokenRule(
                    ("volumeMounts", index, key), mount.get(key), "is in volumeDevices, too"
                )


def _propagates(container: JSON) -> Broken:
    for index, mount in enumerate(container.get("volumeMounts") or ()):
        if mount.get("mountPropagation") != _BOTH_WAYS:
            continue
        if part_of(container, "securityContext").get("privileged") is not True:
            path = ("volumeMounts", index, "mountPropagation")
            yield BrokenRule(path, _BOTH_WAYS, "is for privileged containers alone")


_MOUNT: Final = every(
    required("name", "mountPath"),
    one_of("subPath", "subPathExpr", is_optional=True),
    fields(
        **dict.fromkeys(("subPath", "subPathExpr"), text(syntax.RELATIVE_PATH)),
        mountPropagation=choice(_BOTH_WAYS, "HostToContainer", _NONE, is_optional=False),
        recursiveReadOnly=choice(*_READ_ONLY, "Disabled", is_optional=False),
    ),
    asked(_read_only),
)
_DEVICE: Final = needs("name", "devicePath", devicePath=text(syntax.PATH_WITHOUT_STEPS_UP))
MOUNTS: Final = every(
    fields(
        volumeMounts=every(items(_MOUNT), unique("mountPath")),
        volumeDevices=every(items(_DEVICE), unique("name"), unique("devicePath")),
    ),
    asked(_beside, _propagates),
)
"""What a container mounts. What an initializer's container mounts is judged by `initializer-mount`."""
SECURED: Final = fields(securityContext=every(SECURITY, asked(_escalates)))
"""A container's own security context."""
