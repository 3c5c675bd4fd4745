"""A v1 AdmissionReview: what the API server asks, and what it is answered.

Rules: the API `admission.k8s.io/v1`; codes and reasons: reference behaviour 5.
"""

import asyncio
import base64
import json
import re
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import orjson

from trainer_infra.errors import Problem, without_secrets
from trainer_infra.json_values import JSONDict, JSONObject

T = TypeVar("T")
LARGE: Final = 64 * 1024
"""Bytes from which on a review is a large one; to judge so much takes some milliseconds."""
_SECONDS: Final = 9.0
"""For a whole review: the API server waits 10 for its answer."""


INVALID: Final = "Invalid value"
FORBIDDEN: Final = "Forbidden"
INTERNAL: Final = "Internal error"
_CAUSES: Final = {INVALID: "FieldValueInvalid", FORBIDDEN: "FieldValueForbidden"}
"""What the API calls the types of errors in the causes of a Status."""
_JSON: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=str)
LONGEST: Final = 16 * 1024
"""Characters of all values that are shown: the whole answer has to fit into what the API server reads."""
_WHOLE: Final = frozenset({"spec.runtimePatches"})
"""Fields that the reference shows whole, where we found a part of one wrong."""
_STEP: Final = re.compile(r"\.?([A-Za-z]\w*)|\[(\d+)\]", re.ASCII)
_ESCAPES: Final = {ord(each): f"\\u{ord(each):04x}" for each in "<>&\u2028\u2029"}
"""Go's encoder writes these so in JSON."""
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


def field_error(
    problem: Problem, value: JSONObject, *, with_advice: bool, longest: int = LONGEST
) -> str:
    """The sentence for one problem of an object, in the words of Kubernetes' own validation.

    Clients compare these texts with those of the reference: field, type of the error, the object's value there
    as compact JSON and so many characters of it, what is wrong. Rules: reference behaviour 5. With advice the
    sentence ends with what to do about it.
    """
    advice = f"; {problem.fix}" if with_advice and problem.fix else ""
    if not problem.path:
        return f"{problem.what}{advice}"
    return f"{problem.path}: {_body(problem, value, longest)}{advice}"


def aggregate_message(sentences: Iterable[str]) -> str:
    """One sentence as it is, several in brackets; each once."""
    several = tuple(dict.fromkeys(sentences))
    return several[0] if len(several) == 1 else f"[{', '.join(several)}]"


def status_cause(problem: Problem, value: JSONObject, longest: int = LONGEST) -> JSONDict:
    """The problem as a cause of a Status, from which programs read the field."""
    reason = _CAUSES[FORBIDDEN if problem.forbidden else INVALID]
    return {"reason": reason, "message": _body(problem, value, longest), "field": problem.path}


def _body(problem: Problem, value: JSONObject, longest: int) -> str:
    """The error without its field."""
    if problem.forbidden:
        return f"{FORBIDDEN}: {problem.what}"
    return f"{INVALID}: {_shown(bad_value(problem, value), longest)}: {problem.what}"


def bad_value(problem: Problem, value: JSONObject) -> Any:
    """The value that is shown: what was found wrong, else what the object has in the field."""
    is_part = problem.got is not None and problem.path not in _WHOLE
    return problem.got if is_part else _value_in(value, problem.path)


def _value_in(value: Any, path: str) -> Any:
    """What an object has in a field; None where the path is not one of plain fields and positions."""
    place = 0
    while place < len(path):
        step = _STEP.match(path, place)
        if step is None:
            return None
        place = step.end()
        name, position = step.groups()
        if name is not None and isinstance(value, Mapping):
            value = value.get(name)
        elif position is not None and isinstance(value, list) and int(position) < len(value):
            value = value[int(position)]
        else:
            return None
    return value


def _shown(value: Any, longest: int) -> str:
    text = ""
    # No more of a large value is written than is shown.
    for part in _JSON.iterencode(value):
        text += part
        if len(text) > longest:
            break
    text = text if isinstance(value, str) else text.translate(_ESCAPES)
    return without_secrets(text if len(text) <= longest else f"{text[:longest]}…")


class LargeReviews:
    """Large reviews, judged beside the loop, one after the other, so that small ones go on; and their time.

    One thread does the work: two would share one processor's time with the loop, and take twice as much
    of it.
    """

    def __init__(self, seconds: float = _SECONDS) -> None:
        self.seconds = seconds
        self._executor = ThreadPoolExecutor(1, "large-reviews")

    async def done(self, work: Callable[..., T], *arguments: Any) -> T:
        """What the work gives, in its turn; a caller that stops waiting gives up the turn."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._executor, work, *arguments)
