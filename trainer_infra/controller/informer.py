"""One kind of object, followed from a paged list through watches that resume.

The manager runs one for each kind. It fills a cache and says which objects changed. It never ends by
itself: what the API server refuses, or an API server that is away, is logged and tried again.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import aclosing
from typing import Final, NamedTuple

import orjson

from trainer_infra.errors import TrainerInfraError
from trainer_infra.json_values import JSONObject
from trainer_infra.kube.client import KubeClient, ObjectSelection
from trainer_infra.kube.refusals import Expired

TOMBSTONES: Final = 1_000
"""Objects whose deletion is remembered, for answers that come after it."""


class ObjectKey(NamedTuple):
    """An object's place; the namespace of one without is empty."""

    namespace: str
    name: str


class ObjectCache:
    """The last known state of one kind's objects, as bytes of what is needed of each.

    Informers fill it from lists and watches, and workers with what their own writes return, so that a
    decision sees every write that it follows. An older version never replaces a newer one. The projection
    says what is kept of an object.
    """

    def __init__(self, projection: Callable[[JSONObject], JSONObject]) -> None:
        self._projection = projection
        self._objects: dict[ObjectKey, tuple[int, bytes]] = {}
        self._gone: dict[ObjectKey, int] = {}

    def __len__(self) -> int:
        return len(self._objects)

    def __contains__(self, key: object) -> bool:
        return key in self._objects

    def __iter__(self) -> Iterator[ObjectKey]:
        return iter(self._objects)

    def get(self, key: ObjectKey) -> JSONObject | None:
        """What is kept of an object; None where there is none. It belongs to the caller."""
        found = self._objects.get(key)
        if found is None:
            return None
        value: JSONObject = orjson.loads(found[1])
        return value

    def version(self, key: ObjectKey) -> int | None:
        """The resourceVersion of an object; None where there is none."""
        found = self._objects.get(key)
        return None if found is None else found[0]

    def put(self, value: JSONObject) -> bool:
        """Keep an object as it is now; whether it is news."""
        key, version = key_of(value), version_of(value)
        known = self._objects.get(key)
        if known is not None and known[0] >= version:
            return False
        if self._gone.get(key, -1) >= version:
            return False
        # A copy: what orjson returns keeps 4 KiB whatever its length, and that would be most of the memory.
        kept = bytes(memoryview(orjson.dumps(self._projection(value))))
        self._objects[key] = (version, kept)
        return True

    def remove(self, value: JSONObject) -> bool:
        """An object is gone; whether it is news."""
        key, version = key_of(value), version_of(value)
        self._bury(key, version)
        known = self._objects.get(key)
        if known is None or known[0] > version:
            return False
        del self._objects[key]
        return True

    def keep_only(self, keys: Iterable[ObjectKey], version: int) -> list[ObjectKey]:
        """Remove what a whole list does not have and is not newer than it; the places of what was removed."""
        listed = set(keys)
        gone = [
            key for key, known in self._objects.items() if key not in listed and known[0] <= version
        ]
        for key in gone:
            del self._objects[key]
            self._bury(key, version)
        return gone

    def _bury(self, key: ObjectKey, version: int) -> None:
        """Remember that an object was gone at a version."""
        self._gone.pop(key, None)
        self._gone[key] = version
        if len(self._gone) > TOMBSTONES:
            del self._gone[next(iter(self._gone))]


PAUSE: Final = 5.0
"""Seconds before another try where the API server says no."""
_log: Final = logging.getLogger(__name__)


class Informer:
    """Follows the objects of one selection."""

    def __init__(
        self,
        client: KubeClient,
        selection: ObjectSelection,
        cache: ObjectCache,
        changed: Callable[[ObjectKey], None],
    ) -> None:
        """`changed` is called with the place of each object that is new, another or gone."""
        self.has_synced: Final = asyncio.Event()
        """Set once the cache holds a whole list."""
        self._client = client
        self._selection = selection
        self._cache = cache
        self._changed = changed

    async def run(self) -> None:
        """Follow them until this is cancelled."""
        plural = self._selection.resource.plural
        while True:
            try:
                await self._watch(await self._list())
            except Expired:
                _log.info("the watch of %s is too old; they are listed again", plural)
            except TrainerInfraError as error:
                _log.error("cannot follow %s: %s", plural, error)
                await asyncio.sleep(PAUSE)

    async def _list(self) -> str:
        """Take over a whole list, page by page; its resourceVersion."""
        version, keys = "", set[ObjectKey]()
        async with aclosing(self._client.pages(self._selection)) as pages:
            async for page in pages:
                version = page.resource_version
                for value in page.items:
                    keys.add(key_of(value))
                    self._put(value)
        for key in self._cache.keep_only(keys, int(version)):
            self._changed(key)
        self.has_synced.set()
        return version

    async def _watch(self, since: str) -> None:
        async with aclosing(self._client.watch(self._selection, since)) as changes:
            async for change in changes:
                if change.type == "DELETED":
                    if self._cache.remove(change.value):
                        self._changed(key_of(change.value))
                elif change.type != "BOOKMARK":
                    self._put(change.value)

    def _put(self, value: JSONObject) -> None:
        if self._cache.put(value):
            self._changed(key_of(value))


def key_of(value: JSONObject) -> ObjectKey:
    """The place of an object."""
    metadata = value["metadata"]
    return ObjectKey(metadata.get("namespace") or "", metadata["name"])


def version_of(value: JSONObject) -> int:
    """An object's resourceVersion, which grows with each change of anything (KEP-5504)."""
    return int(value["metadata"]["resourceVersion"])
