"""A cluster that runs are looked at in: its connection, and the answers that many looks share."""

import copy
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from trainer_infra import names
from trainer_infra.cluster.last_seen import LastSeenPods
from trainer_infra.cluster.request_cache import RequestCache
from trainer_infra.cluster.rights import Rights
from trainer_infra.cluster.run_store import RunStore
from trainer_infra.json_values import JSONObject
from trainer_infra.kube.client import KubeClient, ObjectSelection
from trainer_infra.kube.resource import POD, Resource
from trainer_infra.runs.run import RunKey

MANY: Final = 5
"""Runs asked for within `WITHIN` seconds from which on lists are read."""
WITHIN: Final = 2.0

ByName: TypeAlias = Mapping[tuple[str, str], JSONObject]
"""Objects by namespace and name."""


@dataclass(slots=True)
class Session:
    """A connection to a cluster and what is remembered of it; lives in one event loop."""

    client: KubeClient
    host: str
    """As a Run has it."""
    store: RunStore
    """Where the engine that looks keeps its runs; see `for_store`."""
    cache: RequestCache = field(default_factory=RequestCache)
    """Lists and nodes that were just read."""
    asked: deque[tuple[float, tuple[str, str]]] = field(default_factory=deque)
    """When which run was asked for."""
    last_seen: LastSeenPods = field(init=False)
    """Pods that failed between two looks."""
    rights: Rights = field(init=False)
    """What this account may do."""

    def __post_init__(self) -> None:
        self.last_seen = LastSeenPods(self.client)
        self.rights = Rights(self.client)

    def for_store(self, store: RunStore) -> "Session":
        """The same connection, and all that is remembered of it, for runs that are kept elsewhere."""
        other = copy.copy(self)
        other.store = store
        return other

    async def close(self) -> None:
        """End every watch and every connection."""
        await self.last_seen.close()
        await self.client.close()

    def is_one_of_many(self, key: RunKey) -> bool:
        """Whether so many runs of its namespace were asked for lately, this one among them."""
        now = time.monotonic()
        self.asked.append((now, (key.namespace, key.name)))
        while now - self.asked[0][0] > WITHIN:
            self.asked.popleft()
        return len({each for _, each in self.asked if each[0] == key.namespace}) >= MANY

    async def objects(self, kind: Resource, namespace: str, labels: str) -> ByName:
        """Objects of a kind, read once for all who ask in this moment."""
        selection = ObjectSelection(kind, namespace, labels)

        async def ask() -> ByName:
            items = (await self.client.list(selection)).items
            return {
                (each["metadata"]["namespace"], each["metadata"]["name"]): each for each in items
            }

        return await self.cache.answer(selection, ask)

    async def pods(self, namespace: str) -> Mapping[tuple[str, str], list[JSONObject]]:
        """Pods by the namespace and name of their JobSet, read once for all likewise."""
        selection = ObjectSelection(POD, namespace, names.JOBSET_NAME_LABEL)

        async def ask() -> Mapping[tuple[str, str], list[JSONObject]]:
            pods = (await self.client.list(selection)).items
            found: dict[tuple[str, str], list[JSONObject]] = {}
            for each in pods:
                name = each["metadata"]["labels"][names.JOBSET_NAME_LABEL]
                found.setdefault((each["metadata"]["namespace"], name), []).append(each)
            return found

        return await self.cache.answer(selection, ask)
