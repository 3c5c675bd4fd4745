"""What an API server would refuse to store, and what it says then. Writes nothing.

Names, sizes and immutable fields are judged as the API server does it, our kinds and JobSets by
their published schemas (api/shape/schema.py, api/transitions.py); other kinds' content is taken
as it is.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from tests.fake_api_server.object_store import Place, Store
from trainer_infra import names
from trainer_infra.api import transitions
from trainer_infra.api.finding import FieldFinding, path_text
from trainer_infra.api.shape import schema
from trainer_infra.kube import refusals
from trainer_infra.kube.refusals import Answer
from trainer_infra.kube.resource import NAMESPACE, Resource

JSON = Mapping[str, Any]

_LARGEST_REQUEST: Final = 3 * 1024 * 1024
"""Bytes of a request."""
_LARGEST_STORED: Final = 1_572_864
"""Bytes of an object for etcd."""
_LARGEST_DATA: Final = 1_048_576
"""Bytes in a ConfigMap or a Secret."""
_LARGEST_ANNOTATIONS: Final = 262_144

_SUBDOMAIN: Final = re.compile(
    r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*", re.ASCII
)
_LONGEST_NAME: Final = 253
_LABELS: Final = ("Namespace", "Service", "Job")
"""Kinds whose name is, or becomes, a label."""
_LONGEST_LABEL: Final = 63
_WITH_DATA: Final = ("ConfigMap", "Secret")

_STATUS: Final[Mapping[str, int]] = {
    "BadRequest": 400,
    "Forbidden": 403,
    "NotFound": 404,
    "AlreadyExists": 409,
    "Conflict": 409,
    "Expired": 410,
    "RequestEntityTooLarge": 413,
    "InternalError": 500,
}

Cause = tuple[str, str, str]
"""Field, reason and message of one cause of a 422."""


def refused(
    reason: str, message: str, asked: str, resource: Resource | None = None, name: str = ""
) -> Answer:
    """The refusal for an answer as a server writes it.

    Args:
        reason: a key of `_STATUS`.
        message: the server's sentence.
        asked: what was asked.
        resource: the kind that the answer is about, if any.
        name: the object that it is about.
    """
    details = {"name": name, "kind": resource.plural} if resource else {}
    said = {"reason": reason, "message": message, "details": details}
    return refusals.of_status(_STATUS[reason], said, asked)


def invalid(resource: Resource, name: str, causes: list[Cause], asked: str) -> Answer:
    """A 422."""
    group = resource.api_version.rpartition("/")[0]
    kind = ".".join(filter(None, (resource.kind, group)))
    text = [f"{field}: {message}" for field, _, message in causes]
    said = {
        "reason": "Invalid",
        "message": f'{kind} "{name}" is invalid: '
        + (text[0] if len(text) == 1 else f"[{', '.join(text)}]"),
        "details": {
            "causes": [
                {"field": field, "reason": reason, "message": message}
                for field, reason, message in causes
            ]
        },
    }
    return refusals.of_status(422, said, asked)


def judge(resource: Resource, old: JSON | None, new: JSON, asked: str) -> None:
    """Refuse what cannot be stored.

    Args:
        resource: the kind.
        old: what is stored; None for a new object.
        new: what is to be stored.
        asked: what was asked, for the message.

    Raises:
        TooLarge: It has too many bytes.
        Invalid: It cannot be, or changes what cannot change.
    """
    causes = list(_causes(resource, old, new))
    if causes:
        raise invalid(resource, new["metadata"].get("name", ""), causes, asked)
    if len(json.dumps(new)) > _LARGEST_STORED:
        raise refused("InternalError", "etcdserver: request is too large", asked)


def _causes(resource: Resource, old: JSON | None, new: JSON) -> Iterator[Cause]:
    if old is None:
        yield from _name(resource.kind, new["metadata"].get("name") or "")
    yield from _sizes(resource.kind, new)
    yield from _by_schema(resource, old, new)
    if old is not None:
        yield from _immutable(resource.kind, old, new)


def _name(kind: str, name: str) -> Iterator[Cause]:
    if not name:
        yield (
            "metadata.name",
            "FieldValueRequired",
            "Required value: name or generateName is required",
        )
        return
    longest = _LONGEST_LABEL if kind in _LABELS else _LONGEST_NAME
    if len(name) > longest:
        what = f"must be no more than {longest} characters"
    elif not _SUBDOMAIN.fullmatch(name):
        what = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters"
    else:
        return
    yield "metadata.name", "FieldValueInvalid", f'Invalid value: "{name}": {what}'


def _sizes(kind: str, new: JSON) -> Iterator[Cause]:
    annotations = new["metadata"].get("annotations") or {}
    if sum(len(key) + len(value) for key, value in annotations.items()) > _LARGEST_ANNOTATIONS:
        yield _too_long("metadata.annotations", _LARGEST_ANNOTATIONS)
    data = {**(new.get("data") or {}), **(new.get("binaryData") or {})}
    if kind in _WITH_DATA and sum(map(len, data.values())) > _LARGEST_DATA:
        yield _too_long("data" if kind == "Secret" else "[]", _LARGEST_DATA)


def _too_long(field: str, limit: int) -> Cause:
    return field, "FieldValueTooLong", f"Too long: may not be more than {limit} bytes"


def _by_schema(resource: Resource, old: JSON | None, new: JSON) -> Iterator[Cause]:
    place: tuple[str, ...] = ()
    if resource.kind == names.JOBSET:
        name, place = "JobSetSpec", ("spec",)
    elif resource.api_version == names.API_VERSION:
        name = resource.kind
    else:
        return
    value = new.get("spec", {}) if place else new
    found: list[FieldFinding] = list(schema.schema_findings(value, name))
    if old is not None:
        found += transitions.transition_findings(old.get("spec", {}) if place else old, value, name)
    for each in found:
        yield path_text((*place, *each.path)), "FieldValueInvalid", f"Invalid value: {each.what}"


def _immutable(kind: str, old: JSON, new: JSON) -> Iterator[Cause]:
    if kind in _WITH_DATA and old.get("immutable"):
        for field in ("data", "binaryData", "immutable"):
            if old.get(field) != new.get(field):
                what = "Forbidden: field is immutable when `immutable` is set"
                yield field, "FieldValueForbidden", what
    if kind == "Secret" and old.get("type") != new.get("type"):
        yield "type", "FieldValueInvalid", "Invalid value: field is immutable"
    if kind == "Job":
        for field in ("template", "selector", "completionMode"):
            if (old.get("spec") or {}).get(field) != (new.get("spec") or {}).get(field):
                yield f"spec.{field}", "FieldValueInvalid", "Invalid value: field is immutable"


def check_size(value: JSON, asked: str) -> None:
    """Refuse a request that is too large."""
    if len(json.dumps(value)) > _LARGEST_REQUEST:
        message = f"Request entity too large: limit is {_LARGEST_REQUEST}"
        raise refused("RequestEntityTooLarge", message, asked)


def plural(kind: Resource) -> str:
    """The kind as messages name it."""
    group = kind.api_version.rpartition("/")[0]
    return f"{kind.plural}.{group}" if group else kind.plural


def check_identity(kind: Resource, old: JSON | None, metadata: JSON, asked: str) -> None:
    """Refuse to apply to another version, or another object, than was meant."""
    uid, version = metadata.get("uid"), metadata.get("resourceVersion")
    there = old["metadata"] if old else {}
    why = ""
    if uid and uid != there.get("uid"):
        why = f"uid mismatch: the provided object specified uid {uid}"
    elif old and version and version != there["resourceVersion"]:
        why = (
            "the object has been modified; please apply your changes to the latest version and "
            "try again"
        )
    if why:
        name = metadata["name"]
        message = f'Operation cannot be fulfilled on {plural(kind)} "{name}": {why}'
        raise refused("Conflict", message, asked, kind, name)


def check_namespace(kind: Resource, place: Place, store: Store, asked: str) -> None:
    """Refuse a new object in a namespace that is not there, or is going."""
    if not kind.namespaced:
        return
    namespace = store.get(NAMESPACE, ("", place[0]))
    if namespace is None:
        message = f'namespaces "{place[0]}" not found'
        raise refused("NotFound", message, asked, NAMESPACE, place[0])
    if "deletionTimestamp" in namespace["metadata"]:
        message = (
            f'{plural(kind)} "{place[1]}" is forbidden: unable to create new content in '
            f"namespace {place[0]} because it is being terminated"
        )
        raise refused("Forbidden", message, asked, kind, place[1])
