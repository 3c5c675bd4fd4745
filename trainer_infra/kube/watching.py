"""Changes of objects as an API server tells them, across lost connections.

A server ends every watch after a while, and so does anything between it and us: the next one begins
after the last change or bookmark that arrived.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Any, Final

import orjson

from trainer_infra.kube import answer_body, refusals
from trainer_infra.kube.answer_body import BrokenStream
from trainer_infra.kube.client import ObjectChange, ObjectSelection
from trainer_infra.kube.refusals import Answer, Expired, NotKubernetes
from trainer_infra.kube.request import KubeRequest

if TYPE_CHECKING:
    from trainer_infra.kube.transport import Transport

SILENCE: Final = 90.0
"""Seconds without a byte: a server sends a bookmark each minute."""
_AGAIN: Final = 1.0
"""Seconds before another watch where the last brought nothing."""


def selection_changes(selection: ObjectSelection) -> dict[str, str]:
    """The query parameters of a selection."""
    found = {"labelSelector": selection.labels, "fieldSelector": selection.fields}
    return {key: value for key, value in found.items() if value}


async def watch_changes(
    transport: "Transport", selection: ObjectSelection, since: str
) -> AsyncGenerator[ObjectChange, None]:
    """Changes after the resourceVersion `since`, without an end.

    Raises:
        Expired: `since` is too long ago.
        Unreachable: The server was away for longer than the transport's patience.
        NotKubernetes: What comes is not a watch, and not for the moment only.
        Answer: The server says no, and not for the moment only.
    """
    tries = transport.tries()
    while True:
        before = since
        try:
            async with aclosing(_one_watch(transport, selection, since)) as watch:
                async for change in watch:
                    since, tries = change.value["metadata"]["resourceVersion"], transport.tries()
                    yield change
        except _WatchEnded as ended:
            if tries.pause(known=True) is None:
                raise ended.answer from None
        if since == before:
            await asyncio.sleep(_AGAIN)


class _WatchEnded(Exception):
    """The server ended a watch with an error of its own, or with what is not an event."""

    def __init__(self, answer: Answer | NotKubernetes) -> None:
        self.answer = answer


async def _one_watch(
    transport: "Transport", selection: ObjectSelection, since: str
) -> AsyncGenerator[ObjectChange, None]:
    """The changes of one connection, until it ends."""
    resource = selection.resource
    asked = f"watch {resource.plural} of {selection.namespace or 'every namespace'}"
    query = {
        "watch": "true",
        "allowWatchBookmarks": "true",
        "resourceVersion": since,
        "timeoutSeconds": str(transport.patience.watch_for),
    }
    request = KubeRequest(
        "GET",
        resource.path(selection.namespace),
        asked,
        query | selection_changes(selection),
        resource=resource,
    )
    with suppress(BrokenStream):
        async with transport.stream(request, SILENCE) as chunks:
            async for line in answer_body.stream_lines(chunks):
                yield _change(line, asked, transport.server)


def _change(line: bytes, asked: str, server: str) -> ObjectChange:
    try:
        event = orjson.loads(line)
        if event["type"] == "ERROR":
            raise _error(event["object"], asked)
        if event["object"]["metadata"]["resourceVersion"]:
            return ObjectChange(event["type"], event["object"])
    except (ValueError, LookupError, TypeError, AttributeError):
        # Also a line that the server did not end, because the connection was lost on the way.
        pass
    what, fix = "with a line that is not an event", "is a proxy in between that changes answers?"
    raise _WatchEnded(NotKubernetes(server, asked, what, fix, again=True))


def _error(said: dict[str, Any], asked: str) -> Exception:
    answer = refusals.of_status(said.get("code") or 500, said, asked)
    return answer if isinstance(answer, Expired) else _WatchEnded(answer)
