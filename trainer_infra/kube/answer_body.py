"""The body of an answer -> the object that was asked for, or what came instead of it. Pure.

Between us and an API server may be proxies, and a wrong address may be any server: what they say
must not be taken for Kubernetes' word. A page with status 404 says nothing about an object.
"""

import re
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from dataclasses import dataclass
from html import unescape
from typing import Any, Final
from urllib.parse import urlsplit, urlunsplit

import orjson

from trainer_infra.kube.refusals import NotKubernetes
from trainer_infra.kube.request import LIST, KubeRequest


class BrokenStream(Exception):
    """A stream's connection was lost, or was silent for too long."""


JSON_TYPE: Final = "application/json"
"""Content type of what an API server says of objects."""
PLAIN: Final = "text/plain"
"""Content type of some of its refusals, for example of a path that it does not know, and of logs."""
_SHOWN: Final = 300
"""Characters of a text that a message shows."""
_TITLE: Final = re.compile(r"<title[^>]*>(.*?)</title", re.DOTALL | re.IGNORECASE)
_HTML: Final = ("text/html", "application/xhtml+xml")
_REDIRECTED: Final = range(300, 400)
_UNAUTHORIZED: Final = 401
_GOOD: Final = range(200, 300)
_IN_TROUBLE: Final = 500
"""From this status on the body is only shown: what is in trouble may say anything."""
_CORRECT: Final = "correct the server in the kubeconfig"
_SIGN_IN: Final = f"is a proxy or a login in between? sign in again, or {_CORRECT}"


@dataclass(frozen=True, slots=True)
class Body:
    """What came with an answer's status."""

    status: int
    """HTTP status code."""
    content_type: str
    """Without parameters."""
    content: bytes
    location: str = ""
    """The header of a redirect."""


def said_by_server(request: KubeRequest, body: Body, server: str) -> dict[str, Any]:
    """The object or the list that was asked for, or the Status of a refusal.

    Of a text that is not JSON, which some refusals are, an object with a `message`. Messages name the
    server by its URL.

    Raises:
        NotKubernetes: An API server would not answer that.
    """
    if body.status in _GOOD:
        return _asked_for(request, body, server)
    if body.status in _REDIRECTED:
        what = f"with a redirect ({body.status}) to {_without_query(body.location)}"
        raise NotKubernetes(server, request.asked, what, f"sign in again, or {_CORRECT}")
    found = _status(body)
    if found is not None:
        return found
    shown = body_excerpt(body)
    if body.status == _UNAUTHORIZED or body.status >= _IN_TROUBLE or body.content_type == PLAIN:
        return {"message": shown}
    what = f"with status {body.status} and {shown}"
    raise NotKubernetes(server, request.asked, what, _SIGN_IN)


def is_stream(request: KubeRequest, content_type: str) -> bool:
    """Whether a good answer of that content type is the stream that was asked for.

    What sends a log on may call it anything; a page it is not.
    """
    if request.answer_type == PLAIN:
        return content_type not in _HTML
    return content_type == request.answer_type


def no_stream(request: KubeRequest, body: Body, server: str) -> NotKubernetes:
    """The error for an answer that is not the stream that was asked for."""
    what = f"with {body_excerpt(body)} ({body.status} {body.content_type})"
    return NotKubernetes(server, request.asked, what, _SIGN_IN)


def body_excerpt(body: Body) -> str:
    """A body that is not an object, as a message shows it: a page by its title, a text by its words."""
    text = body.content.decode("utf-8", "replace")
    if body.content_type in _HTML or text.lstrip()[:1] == "<":
        title = " ".join(unescape("".join(_TITLE.findall(text)[:1])).split())
        return f"a page titled {title[:_SHOWN]!r}" if title else "a page"
    words = " ".join(text.split())
    return (words if len(words) <= _SHOWN else f"{words[:_SHOWN]}…") or "an empty body"


def _asked_for(request: KubeRequest, body: Body, server: str) -> dict[str, Any]:
    what, again, fix = "", False, _SIGN_IN
    value: Any = None
    if not body.content.strip():
        what, again = f"with an empty body ({body.status})", True
    elif body.content_type != JSON_TYPE:
        what = f"with {body_excerpt(body)} ({body.status} {body.content_type})"
    else:
        try:
            value = orjson.loads(body.content)
        except orjson.JSONDecodeError as error:
            reason = f"{error.msg.split(':', 1)[0]}, at character {error.pos}"
            what, again = f"with JSON that is cut off or broken ({reason})", True
            fix = "is a proxy in between that changes answers? try again"
        else:
            what = _misfit(request.expected, value)
    if what:
        raise NotKubernetes(server, request.asked, what, fix, again=again)
    found: dict[str, Any] = value
    return found


def _misfit(expected: str, value: Any) -> str:
    """What is wrong with the JSON of a good answer; empty when nothing is."""
    if not isinstance(value, Mapping):
        return f"with a JSON {_TYPES.get(type(value), 'value')} where an object was asked for"
    kind = str(value.get("kind") or "an object without a kind")
    fits = kind.endswith(LIST) if expected == LIST else kind == expected
    if expected and not fits:
        wanted = "a list" if expected == LIST else f"a {expected}"
        return f"with {_with_article(kind)} where {wanted} was asked for"
    if expected and not _is_whole(expected, value):
        return f"with {_with_article(kind)} that lacks what every such object has"
    return ""


def _is_whole(expected: str, value: Mapping[str, Any]) -> bool:
    if expected == DISCOVERED:
        kinds = value.get("resources")
        return isinstance(kinds, list) and all(
            isinstance(each, Mapping) and {"name", "kind", "namespaced"} <= set(each)
            for each in kinds
        )
    metadata = value.get("metadata")
    if expected != LIST:
        return isinstance(metadata, Mapping)
    items = value.get("items") or []
    return (
        isinstance(metadata, Mapping)
        and "resourceVersion" in metadata
        and isinstance(items, list)
        and all(isinstance(each, Mapping) for each in items)
    )


DISCOVERED: Final = "APIResourceList"
"""Kind of the answer to which kinds a version has."""
_TYPES: Final[Mapping[type, str]] = {
    list: "list",
    str: "string",
    int: "number",
    float: "number",
    bool: "boolean",
    type(None): "null",
}


def _status(body: Body) -> dict[str, Any] | None:
    """The Status (meta/v1) of a refusal; None when it is something else."""
    if body.content_type != JSON_TYPE:
        return None
    try:
        value = orjson.loads(body.content)
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, dict) and value.get("kind") == "Status" else None


def _with_article(kind: str) -> str:
    return kind if " " in kind else f"a {kind}"


def _without_query(location: str) -> str:
    """Where a redirect leads, without what may be a token."""
    if not location:
        return "a place that it does not name"
    place = urlsplit(location)
    return urlunsplit((place.scheme, place.netloc.rpartition("@")[2], place.path, "", ""))


async def stream_lines(chunks: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
    """Each line of a stream without its end, however long: an event of a watch is one.

    A last one without an end comes too, unless the stream breaks.

    Raises:
        BrokenStream: The stream did not end by itself; every whole line has come before.
    """
    kept: list[bytes] = []
    async for chunk in chunks:
        head, *rest = chunk.split(b"\n")
        kept.append(head)
        for line in rest:
            yield b"".join(kept)
            kept = [line]
    if last := b"".join(kept):
        yield last
