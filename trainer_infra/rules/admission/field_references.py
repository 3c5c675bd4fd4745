"""References to fields of the pod and to what a container asks for: of variables and of files.

Source: Kubernetes' validation of pods (`validateObjectFieldSelector`,
`validateContainerResourceFieldSelector`).
"""

import re
from collections.abc import Iterator
from typing import Final

from trainer_infra.rules.admission import field
from trainer_infra.rules.admission.field import Check
from trainer_infra.rules.name_syntax import ANNOTATION_KEY, QUALIFIED_NAME
from trainer_infra.rules.rule import Finding, Value
from trainer_infra.words import listed

_OF_BOTH: Final = ("metadata.name", "metadata.namespace", "metadata.uid")
_OF_VARIABLES: Final = (
    *_OF_BOTH,
    *("spec.nodeName", "spec.serviceAccountName"),
    *("status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"),
)
_OF_FILES: Final = (*_OF_BOTH, "metadata.labels", "metadata.annotations")
_RESOURCES: Final = ("cpu", "memory", "ephemeral-storage")
_KNOWN: Final = tuple(f"{part}.{each}" for part in ("limits", "requests") for each in _RESOURCES)
_PAGES: Final = ("limits.hugepages-", "requests.hugepages-")
_KEYED: Final = re.compile(r"(?P<map>[^\[]+)\['(?P<key>.*)'\]", re.DOTALL)
_OF_CPU: Final = frozenset((1, 1000))
"""Divisors of cpu, in thousandths."""
_OF_BYTES: Final = frozenset(base**power for base in (1000, 1024) for power in range(7))


def _field(known: tuple[str, ...]) -> Check:
    def check(place: Value) -> Iterator[Finding]:
        version, path = place["apiVersion"], place["fieldPath"]
        if version.text() not in ("", "v1"):
            yield version.finding("must be v1", version.text())
        if field.is_empty(path):
            yield path.finding("is required")
        elif path.text() and not _is_field(path.text(), known):
            fix = f"write {listed(known, 'or')}, or metadata.labels['KEY']"
            yield path.finding("is no field that a pod tells", path.text(), fix)

    return check


def _is_field(path: str, known: tuple[str, ...]) -> bool:
    keyed = _KEYED.fullmatch(path)
    if keyed is None:
        return path in known
    match keyed["map"]:
        case "metadata.labels":
            return QUALIFIED_NAME.fits(keyed["key"])
        case "metadata.annotations":
            return ANNOTATION_KEY.fits(keyed["key"])
        case _:
            return False


def _resource(place: Value) -> Iterator[Finding]:
    resource, divisor = place["resource"], place["divisor"]
    said = resource.text()
    if field.is_empty(resource):
        yield resource.finding("is required")
    elif said and said not in _KNOWN and not said.startswith(_PAGES):
        fix = f"write {listed(_KNOWN, 'or')}"
        yield resource.finding("is nothing that a container is told of itself", said, fix)
    amount = divisor.quantity()
    if not amount or not said:
        return
    if said.endswith(".cpu") and amount * 1000 not in _OF_CPU:
        yield divisor.finding("must be 1 or 1m", divisor.raw)
    if not said.endswith(".cpu") and amount not in _OF_BYTES:
        yield divisor.finding("must be 1 or one unit, such as 1Mi", divisor.raw)


FIELD_OF_VARIABLE: Final = _field(_OF_VARIABLES)
"""The `fieldRef` of a variable."""
FIELD_OF_FILE: Final = _field(_OF_FILES)
"""The `fieldRef` of a file."""
RESOURCE_OF_VARIABLE: Final[Check] = _resource
"""The `resourceFieldRef` of a variable."""
RESOURCE_OF_FILE: Final = field.every(field.required("containerName"), _resource)
"""The `resourceFieldRef` of a file, which must name its container."""
