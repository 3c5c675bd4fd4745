"""A v1 AdmissionReview: what the API server asks, and what it is answered. Pure.

Rules: the API `admission.k8s.io/v1`; codes and reasons: reference behaviour 5.
"""

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import orjson

from trainer_infra.json_values import JSONDict, JSONObject

API_VERSION: Final = "admission.k8s.io/v1"
KIND: Final = "AdmissionReview"
CREATE: Final = "CREATE"
UPDATE: Final = "UPDATE"
OPERATIONS: Final = (CREATE, UPDATE, "DELETE", "CONNECT")


class MalformedReview(ValueError):
    """The bytes are no review that can be answered: there is no request with a uid."""


@dataclass(frozen=True, slots=True)
class AdmissionRequest:
    """What the API server asks."""

    uid: str
    """Which the answer repeats."""
    operation: str
    """Of OPERATIONS, unless the review is wrong."""
    namespace: str
    """Of the object; empty for kinds without one."""
    value: Any
    """The object as it is to be stored; a JSON object, unless the review is wrong."""
    old: Any
    """The object as it is stored; of an update a JSON object, unless the review is wrong."""
    size: int = 0
    """Bytes of the review."""


@dataclass(frozen=True, slots=True)
class AdmissionResponse:
    """What the API server is answered."""

    allowed: bool = True
    code: int = 200
    """HTTP status that the client gets of a refusal."""
    reason: str = ""
    """The word for it, `Forbidden` for example."""
    message: str = ""
    """Why."""
    causes: tuple[JSONObject, ...] = ()
    """The same by field."""
    warnings: tuple[str, ...] = ()
    """Sentences that clients show, whatever the answer."""
    patch: tuple[JSONObject, ...] = ()
    """JSON patch operations on the object."""


def read_review(body: bytes) -> AdmissionRequest:
    """The request in a review.

    Raises:
        MalformedReview: It is not JSON, no v1 AdmissionReview, or has no request with a uid.
    """
    try:
        review = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise MalformedReview(f"the body is not JSON: {error}; send an {KIND}") from error
    if not isinstance(review, Mapping) or (
        (review.get("apiVersion"), review.get("kind")) != (API_VERSION, KIND)
    ):
        raise MalformedReview(f"the body is not an {KIND} of {API_VERSION}; send one")
    request = review.get("request")
    if not isinstance(request, Mapping):
        raise MalformedReview(f"the {KIND} has no request; only the API server can send one")
    uid = request.get("uid")
    if not isinstance(uid, str) or not uid:
        raise MalformedReview("the request has no uid, which the answer must repeat; add one")
    operation, namespace = (_text(request.get(key)) for key in ("operation", "namespace"))
    objects = request.get("object"), request.get("oldObject")
    return AdmissionRequest(uid, operation, namespace, *objects, size=len(body))


def write_review(uid: str, response: AdmissionResponse) -> bytes:
    """The review that answers the request of that uid."""
    status: JSONDict = {"code": response.code}
    if not response.allowed:
        status |= {"status": "Failure", "reason": response.reason, "message": response.message}
    if response.causes:
        status["details"] = {"causes": list(response.causes)}
    answer: JSONDict = {"uid": uid, "allowed": response.allowed, "status": status}
    if response.warnings:
        answer["warnings"] = list(response.warnings)
    if response.patch:
        coded = base64.b64encode(orjson.dumps(list(response.patch))).decode()
        answer |= {"patchType": "JSONPatch", "patch": coded}
    return orjson.dumps({"apiVersion": API_VERSION, "kind": KIND, "response": answer})


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
