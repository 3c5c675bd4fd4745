"""The progress endpoint of a TrainJob, without a transport: a request in, a response out.

Rules: reference behaviour 6; statuses, messages and bodies are those of the
reference. Mounted by local/endpoint.py; who may report and where a report goes are given to it.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from trainer_infra.progress import validation

LARGEST_BODY: Final = 64 * 1024
"""Bytes of a request's body."""
_PATH: Final = re.compile(
    r"/apis/trainer\.kubeflow\.org/v1alpha1/namespaces/([^/]+)/trainjobs/([^/]+)/status"
)


@dataclass(frozen=True, slots=True)
class Request:
    """What was received."""

    method: str
    """HTTP method, upper case."""
    path: str
    """Without query."""
    headers: Mapping[str, str]
    """By lower-case name; of a repeated header the first."""
    body: bytes
    """At most one byte more than LARGEST_BODY needs to be read."""


@dataclass(frozen=True, slots=True)
class Response:
    """What to answer; the content type is always `application/json`."""

    status: int
    """HTTP status code."""
    body: bytes
    """JSON text with a line end."""


class Authenticator(Protocol):
    """Who may report for a TrainJob."""

    async def reporter(self, token: str, namespace: str, name: str) -> str | None:
        """The pod that this token belongs to; None when it may not report for the TrainJob."""


class Store(Protocol):
    """Where an accepted report goes."""

    async def replace(
        self, namespace: str, name: str, reporter: str, status: Mapping[str, Any]
    ) -> bool:
        """Replace the TrainJob's trainerStatus as a whole; False when there is no such TrainJob."""


def path_of(namespace: str, name: str) -> str:
    """The path that a TrainJob's pods post to."""
    return f"/apis/trainer.kubeflow.org/v1alpha1/namespaces/{namespace}/trainjobs/{name}/status"


async def handle_request(request: Request, authenticator: Authenticator, store: Store) -> Response:
    """Answer one request."""
    try:
        return _answer(200, await _accepted(request, authenticator, store))
    except _Refusal as refusal:
        return _answer(refusal.code, refusal.body)


async def _accepted(
    request: Request, authenticator: Authenticator, store: Store
) -> Mapping[str, Any]:
    """The body of the answer to a request that is fine."""
    # Namespace and name of the TrainJob that a request is about.
    if _length(request) > LARGEST_BODY:
        raise _Refusal(413, "RequestEntityTooLarge", "Payload too large")
    match = _PATH.fullmatch(request.path)
    if match is None or request.method != "POST":
        raise _Refusal(404, "NotFound", "Not found")
    namespace, name = match[1], match[2]
    token = _bearer(request.headers.get("authorization", ""))
    reporter = await authenticator.reporter(token, namespace, name) if token else None
    if reporter is None:
        raise _Refusal(403, "Forbidden", "Forbidden")
    status = _status(request, name)
    if status is None:
        return {}
    if not await store.replace(namespace, name, reporter, status):
        raise _Refusal(404, "NotFound", "Train job not found")
    return {"trainerStatus": status}


class _Refusal(Exception):
    """A request that is answered with a metav1.Status."""

    def __init__(self, code: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.body = {
            "metadata": {},
            "status": "Failure",
            "message": message,
            "reason": reason,
            "code": code,
        }


def _status(request: Request, name: str) -> dict[str, Any] | None:
    """The valid trainerStatus of a request; None when it has none."""
    if len(request.body) > LARGEST_BODY:  # chunked: there was no Content-Length to refuse by
        raise _Refusal(422, "Invalid", "Invalid payload")
    try:
        status = validation.decode_status(request.body)
    except (ValueError, RecursionError) as error:
        raise _Refusal(422, "Invalid", "Invalid payload") from error
    problem = None if status is None else validation.status_problem(name, status)
    if problem is not None:
        raise _Refusal(422, "Invalid", problem)
    return status


def _length(request: Request) -> int:
    text = request.headers.get("content-length", "")
    return int(text) if text.isdecimal() else 0


def _bearer(header: str) -> str:
    """The one credential of a Bearer header; empty when it is anything else."""
    scheme, _, token = header.strip().partition(" ")
    parts = token.split()
    return parts[0] if scheme.lower() == "bearer" and len(parts) == 1 else ""


def _answer(code: int, value: Mapping[str, Any]) -> Response:
    """JSON as Go's encoder writes it: compact, HTML characters escaped, a line end."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Response(code, f"{text}\n".encode())
