"""Every change of a kind's objects, read from etcd itself: no API server, and no restart of one, is in between.

A watch of an API server begins anew where that restarts, and may leave out an object that came and went.
etcd's own watch leaves out nothing, so it is what counts the JobSets of a run.
"""

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp

JOB_SETS = "jobset.x-k8s.io/jobsets"
TRAIN_JOBS = "trainer.kubeflow.org/trainjobs"
CONFIG_MAPS = "configmaps"
SECRETS = "secrets"
LEASES = "leases"
_CUSTOM = (JOB_SETS, TRAIN_JOBS)
"""Kinds that are stored as JSON; the others are protobuf, of which only the key and versions count."""


@dataclass(frozen=True, slots=True)
class Change:
    """One version of an object."""

    kind: str
    namespace: str
    name: str
    created: int
    """Revision of its creation, which tells it from others of its name."""
    version: int
    """How often it was written; 0 for its deletion."""
    value: dict[str, Any] | None
    """The object, of kinds that are stored as JSON."""


@dataclass(slots=True)
class Track:
    """All that was seen of the objects of one name."""

    creations: set[int] = field(default_factory=set)
    uids: set[str] = field(default_factory=set)
    controllers: set[str] = field(default_factory=set)
    """uids of the objects that control them."""
    version: int = 0
    """Of the last one, while it is there."""


class EtcdHistory:
    """What has happened to all objects of some kinds."""

    def __init__(self) -> None:
        self.tracks: dict[tuple[str, str, str], Track] = {}
        """By kind, namespace and name."""
        self.heard: list[Callable[[Change], None]] = []
        """Called with each change."""

    def of(self, kind: str, namespace: str) -> dict[str, Track]:
        """The tracks of a namespace, by name."""
        return {
            name: track
            for (found, place, name), track in self.tracks.items()
            if (found, place) == (kind, namespace)
        }

    def take(self, kind: str, event: dict[str, Any]) -> None:
        """One event of etcd's watch."""
        stored = event["kv"]
        *_, namespace, name = base64.b64decode(stored["key"]).decode().split("/")
        is_gone = event.get("type") == "DELETE"
        track = self.tracks.setdefault((kind, namespace, name), Track())
        if is_gone:
            track.version = 0
            change = Change(kind, namespace, name, 0, 0, None)
        else:
            value = None
            if kind in _CUSTOM:
                value = json.loads(base64.b64decode(stored["value"]))
                track.uids.add(value["metadata"]["uid"])
                track.controllers.update(_controllers(value))
            created, track.version = int(stored["create_revision"]), int(stored["version"])
            track.creations.add(created)
            change = Change(kind, namespace, name, created, track.version, value)
        for each in self.heard:
            each(change)


def _controllers(value: dict[str, Any]) -> list[str]:
    owners = value["metadata"].get("ownerReferences") or ()
    return [each["uid"] for each in owners if each.get("controller")]


@asynccontextmanager
async def followed(
    socket: Path, kinds: Sequence[str] = (JOB_SETS, TRAIN_JOBS, CONFIG_MAPS, SECRETS)
) -> AsyncIterator[EtcdHistory]:
    """A history that grows by itself from now on."""
    history = EtcdHistory()
    connector = aiohttp.UnixConnector(str(socket), limit=0)
    timeout = aiohttp.ClientTimeout(total=None)
    async with aiohttp.ClientSession(connector=connector, timeout=timeout) as session:
        begun = {kind: asyncio.Event() for kind in kinds}
        tasks = [
            asyncio.create_task(_follow(session, kind, history, begun[kind])) for kind in kinds
        ]
        try:
            for each in begun.values():
                async with asyncio.timeout(60):
                    await each.wait()
            yield history
            assert not any(each.done() for each in tasks), tasks
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


async def _follow(
    session: aiohttp.ClientSession, kind: str, history: EtcdHistory, begun: asyncio.Event
) -> None:
    prefix = f"/registry/{kind}/"
    asked = {"key": _encoded(prefix), "range_end": _encoded(prefix[:-1] + "0")}
    async with session.post("http://etcd/v3/watch", json={"create_request": asked}) as answer:
        line = b""
        async for chunk in answer.content.iter_any():
            line += chunk
            *whole, line = line.split(b"\n")
            for each in whole:
                result = json.loads(each)["result"]
                begun.set()
                for event in result.get("events") or ():
                    history.take(kind, event)
    raise ConnectionError(f"etcd ended the watch of {kind}")


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
