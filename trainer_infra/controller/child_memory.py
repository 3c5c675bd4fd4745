"""What this process knows of a TrainJob's children besides what its caches hold.

The controller may not list ConfigMaps and Secrets: it would read those of all users. So it remembers of each
TrainJob what it has made itself, for as long as the TrainJob is there. A new process knows nothing and
finds out by creating what is there already.
"""

import hashlib
import sys
import time
from dataclasses import dataclass, field

import orjson

from trainer_infra import names
from trainer_infra.json_values import JSONObject

Child = tuple[str, str, str]
"""apiVersion, kind and name."""


@dataclass(slots=True)
class ChildMemory:
    """Of one TrainJob, by its uid: another one of the same name has another memory."""

    uid: str
    snapshot: str | None = None
    """The runtime in its snapshot, as text; TrainJobs on one runtime share it. None: not known."""
    created: frozenset[Child] = frozenset()
    """Objects that are written once and are there."""
    applied: dict[Child, bytes] = field(default_factory=dict)
    """Digests of the objects as they were applied last."""
    events: frozenset[tuple[str, str]] = frozenset()
    """Reason and message of its events about what lasts."""
    sure_since: float = field(default_factory=time.monotonic)
    """When this was last found out, not remembered."""

    def keep_snapshot(self, value: JSONObject) -> None:
        """The snapshot ConfigMap as it is."""
        text = (value.get("data") or {}).get(names.SNAPSHOT_KEY)
        self.snapshot = None if text is None else sys.intern(text)

    def snapshot_object(self) -> JSONObject | None:
        """The snapshot ConfigMap as far as it is read; None when it is not known."""
        if self.snapshot is None:
            return None
        owner = {"uid": self.uid, "controller": True}
        return {
            "metadata": {"ownerReferences": [owner]},
            "data": {names.SNAPSHOT_KEY: self.snapshot},
        }

    def objects(self) -> tuple[JSONObject, ...]:
        """The heads of the children that are there."""
        return tuple(
            {"apiVersion": api_version, "kind": kind, "metadata": {"name": name}}
            for api_version, kind, name in (*self.created, *self.applied)
        )

    def forget_after(self, seconds: float) -> None:
        """Make sure of every child again after a while: one that was removed comes back."""
        if time.monotonic() - self.sure_since >= seconds:
            self.created, self.events = frozenset(), frozenset()
            self.applied.clear()
            self.sure_since = time.monotonic()


def child_of(value: JSONObject) -> Child:
    """What tells a child from its siblings."""
    return value["apiVersion"], value["kind"], value["metadata"]["name"]


def digest_of(value: JSONObject) -> bytes:
    """A short name of everything that an object says."""
    return hashlib.blake2b(orjson.dumps(value), digest_size=16).digest()
