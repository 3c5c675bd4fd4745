"""The objects of memory.py, with their versions and the history that watches read.

Nothing here is refused: what may be stored is judged before.
"""

import copy
import uuid
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from trainer_infra.kube.resource import Resource

JSON = Mapping[str, Any]
Place = tuple[str, str]
"""Namespace, empty for kinds without one, and name."""

FOREGROUND: Final = "foregroundDeletion"
ORPHAN: Final = "orphan"
_UNVERSIONED: Final = ("ConfigMap", "Secret", "Event", "Namespace", "Node")
"""Kinds without a generation."""


@dataclass(frozen=True, slots=True)
class Event:
    """One change of one object."""

    version: int
    resource: Resource
    old: JSON | None
    """None for a new object."""
    new: JSON | None
    """None for one that is gone."""


def now() -> str:
    """The time as objects have it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def head(kind: Resource, place: Place) -> dict[str, Any]:
    """The least of a new object."""
    metadata = {"name": place[1], **({"namespace": place[0]} if place[0] else {})}
    return {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata}


class Store:
    """Objects by kind and place."""

    def __init__(self, history: int) -> None:
        self.version = 1
        """The resourceVersion of the last change."""
        self._objects: dict[Resource, dict[Place, dict[str, Any]]] = {}
        self._history: deque[Event] = deque(maxlen=history)

    def get(self, resource: Resource, place: Place) -> dict[str, Any] | None:
        """The stored object itself; do not change it."""
        return self._objects.get(resource, {}).get(place)

    def all(self, resource: Resource) -> Iterator[tuple[Place, dict[str, Any]]]:
        """A kind's objects by namespace and name."""
        yield from sorted(self._objects.get(resource, {}).items())

    def everything(self) -> list[tuple[Resource, Place, dict[str, Any]]]:
        """Every object there is."""
        return [
            (resource, place, value)
            for resource, there in self._objects.items()
            for place, value in there.items()
        ]

    def since(self, version: int) -> list[Event] | None:
        """The changes after a version; None where they are forgotten."""
        oldest = self._history[0].version if self._history else self.version + 1
        if version < oldest - 1:
            return None
        return [event for event in self._history if event.version > version]

    def complete(self, resource: Resource, old: JSON | None, new: JSON) -> dict[str, Any]:
        """An object with what the server adds, but for its version."""
        made = copy.deepcopy(dict(new))
        metadata = made["metadata"]
        if old is None:
            metadata.update(uid=str(uuid.uuid4()), creationTimestamp=now())
        if resource.kind not in _UNVERSIONED:
            metadata["generation"] = _generation(old, made)
        return made

    def put(self, resource: Resource, place: Place, new: dict[str, Any]) -> dict[str, Any]:
        """Store an object, or remove it where it is being deleted and nothing holds it."""
        there = self._objects.setdefault(resource, {})
        old = there.get(place)
        self.version += 1
        new["metadata"]["resourceVersion"] = str(self.version)
        held = new["metadata"].get("finalizers") or new.get("spec", {}).get("finalizers")
        if "deletionTimestamp" in new["metadata"] and not held:
            there.pop(place, None)
            self._history.append(Event(self.version, resource, new, None))
        else:
            there[place] = new
            self._history.append(Event(self.version, resource, old, new))
        return new

    def delete(self, resource: Resource, place: Place, finalizer: str = "") -> None:
        """Begin to delete an object; a finalizer holds it."""
        new = copy.deepcopy(self._objects[resource][place])
        metadata = new["metadata"]
        held = metadata.get("finalizers") or []
        if "deletionTimestamp" in metadata and finalizer in ("", *held):
            return
        metadata.setdefault("deletionTimestamp", now())
        if finalizer:
            metadata["finalizers"] = [*held, finalizer]
        self.put(resource, place, new)

    def collect(self) -> bool:
        """Do the garbage collector's next step for every object; whether there was any."""
        found = self.everything()
        uids = {value["metadata"]["uid"] for _, _, value in found}
        done = False
        for resource, place, value in found:
            owners = value["metadata"].get("ownerReferences") or ()
            deleting = "deletionTimestamp" in value["metadata"]
            if owners and not deleting and not any(each["uid"] in uids for each in owners):
                self.delete(resource, place)
                done = True
            elif deleting and self._released(resource, place, value):
                done = True
        return done

    def _released(self, resource: Resource, place: Place, value: JSON) -> bool:
        """Go on with an object that waits for those it owns; whether there was anything to do."""
        waiting = value["metadata"].get("finalizers") or ()
        owned = [
            (kind, at, each)
            for kind, at, each in self.everything()
            if value["metadata"]["uid"] in _owners(each)
        ]
        if FOREGROUND in waiting and owned:
            begun = ["deletionTimestamp" in each["metadata"] for _, _, each in owned]
            for kind, at, _ in owned:
                self.delete(kind, at)
            return not all(begun)
        finalizer = FOREGROUND if FOREGROUND in waiting else ORPHAN
        if finalizer not in waiting:
            return False
        for kind, at, each in owned:
            self._disowned(kind, at, each, value["metadata"]["uid"])
        new = copy.deepcopy(dict(value))
        new["metadata"]["finalizers"] = [each for each in waiting if each != finalizer]
        self.put(resource, place, new)
        return True

    def _disowned(self, resource: Resource, place: Place, value: JSON, uid: str) -> None:
        new = copy.deepcopy(dict(value))
        owners = new["metadata"]["ownerReferences"]
        new["metadata"]["ownerReferences"] = [each for each in owners if each["uid"] != uid]
        self.put(resource, place, new)


def _owners(value: JSON) -> set[str]:
    return {each["uid"] for each in value["metadata"].get("ownerReferences") or ()}


def _generation(old: JSON | None, new: JSON) -> int:
    if old is None:
        return 1
    before: int = old["metadata"].get("generation", 1)
    return before + (_specified(old) != _specified(new))


def _specified(value: JSON) -> dict[str, Any]:
    return {key: item for key, item in value.items() if key not in ("metadata", "status")}
