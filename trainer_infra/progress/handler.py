"""The progress endpoint of a TrainJob, without a transport: a request in, a response out.

Rules: reference behaviour 6; statuses, messages and bodies are those of the reference. Who may report and
where a report goes are given to it.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
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
    headers: Mapping[str, str] = field(default_factory=dict)
    """Headers besides the content's."""


@dataclass(frozen=True, slots=True)
class Reporter:
    """Who reports."""

    pod: str
    """Name of the pod."""
    train_job_uid: str = ""
    """Which TrainJob of that name the pod is part of; empty where there is but one."""


class ReportRefusal(Exception):
    """A request that is answered with a metav1.Status; authenticators and stores may raise it."""

    def __init__(self, code: int, reason: str, message: str, retry_after: int = 0) -> None:
        super().__init__(message)
        self.code = code
        """HTTP status code."""
        self.reason = reason
        """Kubernetes' word for it."""
        self.retry_after = retry_after
        """Seconds after which the client may come again; 0 says nothing of it."""

    def response(self) -> Response:
        """What the client gets."""
        details = {"details": {"retryAfterSeconds": self.retry_after}} if self.retry_after else {}
        body = {
            "metadata": {},
            "status": "Failure",
            "message": str(self),
            "reason": self.reason,
            **details,
            "code": self.code,
        }
        headers = {"Retry-After": str(self.retry_after)} if self.retry_after else {}
        return _answer(self.code, body, headers)


class Authenticator(Protocol):
    """Who may report for a TrainJob."""

    async def reporter(self, token: str, namespace: str, name: str) -> Reporter | None:
        """Whom this token belongs to; None when it may not report for the TrainJob.

        Raises:
            ReportRefusal: It is not known, or not now.
        """


class Store(Protocol):
    """Where an accepted report goes."""

    async def replace(
        self, namespace: str, name: str, reporter: Reporter, status: Mapping[str, Any]
    ) -> bool:
        """Replace the TrainJob's trainerStatus as a whole; False when there is no such TrainJob.

        Raises:
            ReportRefusal: It is not stored.
        """


def path_of(namespace: str, name: str) -> str:
    """The path that a TrainJob's pods post to."""
    return f"/apis/trainer.kubeflow.org/v1alpha1/namespaces/{namespace}/trainjobs/{name}/status"


def audience_of(namespace: str, name: str) -> str:
    """Whom the tokens of a TrainJob's pods are for (reference behaviour 3.10)."""
    return path_of(namespace, name).removeprefix("/apis/")


async def handle_request(request: Request, authenticator: Authenticator, store: Store) -> Response:
    """Answer one request."""
    try:
        return _answer(200, await _accepted(request, authenticator, store))
    except ReportRefusal as refusal:
        return refusal.response()


async def _accepted(
    request: Request, authenticator: Authenticator, store: Store
) -> Mapping[str, Any]:
    """The body of the answer to a request that is fine."""
    length = request.headers.get("content-length", "")
    if length.isdecimal() and int(length) > LARGEST_BODY:
        raise ReportRefusal(413, "RequestEntityTooLarge", "Payload too large")
    match = _PATH.fullmatch(request.path)
    if match is None or request.method != "POST":
        raise ReportRefusal(404, "NotFound", "Not found")
    namespace, name = match[1], match[2]
    token = _bearer(request.headers.get("authorization", ""))
    reporter = await authenticator.reporter(token, namespace, name) if token else None
    if reporter is None:
        raise ReportRefusal(403, "Forbidden", "Forbidden")
    status = _status(request, name)
    if status is None:
        return {}
    if not await store.replace(namespace, name, reporter, status):
        raise ReportRefusal(404, "NotFound", "Train job not found")
    return {"trainerStatus": status}


def _status(request: Request, name: str) -> dict[str, Any] | None:
    """The valid trainerStatus of a request; None when it has none."""
    if len(request.body) > LARGEST_BODY:  # chunked: there was no Content-Length to refuse by
        raise ReportRefusal(422, "Invalid", "Invalid payload")
    try:
        status = validation.decode_status(request.body)
    except (ValueError, RecursionError) as error:
        raise ReportRefusal(422, "Invalid", "Invalid payload") from error
    problem = None if status is None else validation.status_problem(name, status)
    if problem is not None:
        raise ReportRefusal(422, "Invalid", problem)
    return status


def _bearer(header: str) -> str:
    """The one credential of a Bearer header; empty when it is anything else."""
    scheme, _, token = header.strip().partition(" ")
    parts = token.split()
    return parts[0] if scheme.lower() == "bearer" and len(parts) == 1 else ""


def _answer(
    code: int, value: Mapping[str, Any], headers: Mapping[str, str] | None = None
) -> Response:
    """JSON as Go's encoder writes it: compact, HTML characters escaped, a line end."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Response(code, f"{text}\n".encode(), headers or {})
