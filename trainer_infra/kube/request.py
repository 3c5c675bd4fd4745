"""What is asked of an API server and what it answers, before either is HTTP. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from trainer_infra.json_values import JSONObject
from trainer_infra.kube import refusals
from trainer_infra.kube.refusals import Answer, NotFound, NotServed
from trainer_infra.kube.resource import Resource

LIST: Final = "List"
"""How the kind of every list ends."""
_REFUSED: Final = 300
"""The first HTTP status that is a no."""


@dataclass(frozen=True, slots=True)
class KubeRequest:
    """What is asked of the server."""

    method: str
    """HTTP method."""
    path: str
    """Below the server's URL."""
    asked: str
    """The same for people: `apply JobSet team/a`."""
    query: Mapping[str, str] = field(default_factory=dict)
    """Query parameters."""
    body: JSONObject | None = None
    """What is sent as JSON."""
    content_type: str = "application/json"
    """Of the body."""
    resource: Resource | None = None
    """The kind, where a 404 about no object means that it is not served."""
    repeatable: bool = True
    """Whether it may be sent again where it is not known what became of it."""
    expected: str = ""
    """Kind of the object in a good answer; `LIST` for a list, empty for any."""
    answer_type: str = "application/json"
    """Content type of a good answer; of a log another."""


@dataclass(frozen=True, slots=True)
class KubeResponse:
    """The server's answer, good or bad."""

    status: int
    """HTTP status code."""
    said: dict[str, Any]
    """The object, the list or the Status; of a plain text one with a `message`."""
    headers: Mapping[str, str]
    """By name, in any case."""
    unsure: bool = False
    """Whether a try before this one may have had its effect."""

    @property
    def refused(self) -> bool:
        """Whether the answer is no."""
        return self.status >= _REFUSED


def refusal_of(request: KubeRequest, response: KubeResponse, server: str) -> Answer | NotServed:
    """The error for an answer that is a no; messages name the server by its URL."""
    found = refusals.of_status(response.status, response.said, request.asked)
    about = (response.said.get("details") or {}).get("name")
    kind = request.resource
    if kind is not None and isinstance(found, NotFound) and not about:
        return NotServed(server, kind.api_version, kind.kind)
    return found


def named_path(resource: Resource, name: str, namespace: str) -> str:
    """An object as messages name it: `JobSet team/a`, `Node b`."""
    return f"{resource.kind} {namespace}/{name}" if namespace else f"{resource.kind} {name}"
