"""The log of a container, line by line, across lost connections.

Each line is asked for with its time, so that a stream that was cut goes on where it broke. A
followed log ends when the container does: an API server that restarts ends the stream too, so the
pod is asked which it was.
"""

import asyncio
import re
from collections.abc import AsyncGenerator
from contextlib import aclosing
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from trainer_infra.kube import answer_body
from trainer_infra.kube.answer_body import BrokenStream
from trainer_infra.kube.client import LogOf
from trainer_infra.kube.refusals import Invalid, NotFound
from trainer_infra.kube.request import KubeRequest
from trainer_infra.kube.resource import POD

if TYPE_CHECKING:
    from trainer_infra.kube.transport import Transport

SILENCE: Final = 300.0
"""Seconds without a byte after which the stream is asked for anew: a log has no heartbeat."""
_TIME: Final = re.compile(r"([-0-9]{10}T[:0-9]{8})(?:\.([0-9]+))?(Z|[-+][:0-9]{5})")
_AGAIN: Final = 1.0
"""Seconds before a stream that ended is asked for again."""


async def log_lines(transport: "Transport", wanted: LogOf) -> AsyncGenerator[str, None]:
    """The lines of a container's log, without their line ends.

    Raises:
        NotFound: There is no such pod.
        Invalid: Its container has not started, or has no such name.
    """
    seen = SeenLines()
    while True:
        try:
            async with aclosing(_one_stream(transport, wanted, seen)) as stream:
                async for line in stream:
                    yield line
            if not wanted.follow or not await _still_writes(transport, wanted, seen.last):
                return
        except (NotFound, Invalid):
            if not seen.last:
                raise
            return
        except BrokenStream:
            pass
        await asyncio.sleep(_AGAIN)


async def _one_stream(
    transport: "Transport", wanted: LogOf, seen: "SeenLines"
) -> AsyncGenerator[str, None]:
    """The new lines of one connection, until it ends."""
    async with transport.stream(_request(wanted, seen.resume()), SILENCE) as chunks:
        async for line in answer_body.stream_lines(chunks):
            whole = line.decode("utf-8", "replace")
            time, _, text = whole.partition(" ")
            if not _is_time(time):
                # The kubelet says in the log itself why it cannot read one.
                time, text = seen.last or wanted.since, whole
            elif not seen.is_new(time):
                continue
            yield f"{time} {text}" if wanted.since else text


class SeenLines:
    """Which lines of a log have come: who asks again, by a time, gets that whole second once more."""

    def __init__(self, since: str = "") -> None:
        self.last = since
        """Time of the last line, as its node wrote it."""
        self._count = self._passed_over = 0
        self._replays = False

    def resume(self) -> str:
        """The time from which to ask, perhaps again; empty for the beginning."""
        self._replays, self._passed_over = self._count > 0, self._count
        return self.last

    def is_new(self, time: str) -> bool:
        """Whether the next line, of this time, has not come before."""
        if self._replays and time == self.last and self._passed_over:
            self._passed_over -= 1
            return False
        if self._replays and _moment(time) < _moment(self.last):
            return False
        self._replays = False
        self._count = self._count + 1 if time == self.last else 1
        self.last = time
        return True


def _request(wanted: LogOf, since: str) -> KubeRequest:
    asked = f"read the log of {wanted.namespace}/{wanted.pod}"
    tail = "" if since or wanted.tail is None else str(wanted.tail)
    query = {
        "timestamps": "true",
        "container": wanted.container,
        "follow": "true" if wanted.follow else "",
        "tailLines": tail,
        "sinceTime": since or wanted.since,
        "previous": "true" if wanted.previous else "",
    }
    path = POD.path(wanted.namespace, wanted.pod, "log")
    given = {key: value for key, value in query.items() if value}
    return KubeRequest("GET", path, asked, given, answer_type=answer_body.PLAIN)


async def _still_writes(transport: "Transport", wanted: LogOf, last: str) -> bool:
    """Whether the container that wrote the last line runs on."""
    asked = f"read Pod {wanted.namespace}/{wanted.pod}"
    path = POD.path(wanted.namespace, wanted.pod)
    response = await transport.send(KubeRequest("GET", path, asked, expected=POD.kind))
    if response.refused:
        return False
    status = response.said.get("status") or {}
    kinds = ("containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses")
    known = [each for kind in kinds for each in status.get(kind) or ()]
    found = (each for each in known if each["name"] == wanted.container)
    mine = next(found, known[0] if known and not wanted.container else {})
    running: dict[str, Any] = (mine.get("state") or {}).get("running") or {}
    began = str(running.get("startedAt") or "")
    return bool(began) and (not last or _moment(began) <= _moment(last))


def _is_time(text: str) -> bool:
    try:
        return bool(_moment(text))
    except ValueError:
        return False


def _moment(time: str) -> tuple[datetime, str]:
    """A time of a log as it sorts: nodes write it in their own zone, with up to nine digits."""
    found = _TIME.fullmatch(time)
    if found is None:
        raise ValueError(time)
    whole, fraction, zone = found.groups(default="")
    return datetime.fromisoformat(whole + zone), f"{fraction:0<9}"
