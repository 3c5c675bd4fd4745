"""The last known state of one kind's objects, as bytes of what is needed of each.

Informers fill it from lists and watches, and workers with what their own writes return, so that a
decision sees every write that it follows. An older version never replaces a newer one.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Final, NamedTuple

import orjson

from trainer_infra.json_values import JSONObject

TOMBSTONES: Final = 1_000
"""Objects whose deletion is remembered, for answers that come after it."""


class ObjectKey(NamedTuple):
    """An object's place; the namespace of one without is empty."""

    namespace: str
    name: str


class ObjectCache:
    """The objects of one kind."""

    def __init__(self, projection: Callable[[JSONObject], JSONObject]) -> None:
        """An empty cache.

        Args:
            projection: what is kept of an object.
        """
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
        """Remove what a whole list does not have; the places of what was removed.

        Args:
            keys: what the list has.
            version: of the list; what is newer is kept.
        """
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


def key_of(value: JSONObject) -> ObjectKey:
    """The place of an object."""
    metadata = value["metadata"]
    return ObjectKey(metadata.get("namespace") or "", metadata["name"])


def version_of(value: JSONObject) -> int:
    """An object's resourceVersion, which grows with each change of anything (KEP-5504)."""
    return int(value["metadata"]["resourceVersion"])
