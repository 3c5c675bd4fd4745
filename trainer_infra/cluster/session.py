"""A cluster that runs are looked at in: its connection, the answers that many looks share, and pods that went."""

import asyncio
import copy
import time
from collections import deque
from collections.abc import Mapping
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from trainer_infra import names
from trainer_infra.cluster import container_logs
from trainer_infra.cluster.request_cache import RequestCache
from trainer_infra.cluster.rights import Rights
from trainer_infra.cluster.run_store import RunStore
from trainer_infra.errors import TrainerInfraError
from trainer_infra.json_values import JSONObject
from trainer_infra.kube.client import KubeClient, ObjectSelection
from trainer_infra.kube.resource import POD, Resource
from trainer_infra.lifecycle import early_end
from trainer_infra.runs import pods
from trainer_infra.runs.run import RunKey

IDLE: Final = 15.0
"""Seconds after the last look at which watching failed pods ends."""
MOST: Final = 256
"""Failed pods that are kept of a cluster; the oldest go."""
PAUSE: Final = 1.0
"""Seconds before a watch that failed begins anew."""
MANY: Final = 5
"""Runs asked for within `WITHIN` seconds from which on lists are read."""
WITHIN: Final = 2.0

ByName: TypeAlias = Mapping[tuple[str, str], JSONObject]
"""Objects by namespace and name."""


@dataclass(frozen=True, slots=True)
class FailedPod:
    """A pod that failed, or was told to end and ended with 0, as it was last seen."""

    pod: JSONObject
    lines: tuple[str, ...] = ()
    """The last lines of its log, where they could still be read."""


class LastSeenPods:
    """Pods that failed while a program looked, kept when Kubernetes deletes them; lives in one event loop.

    A Job whose pods have restartPolicy OnFailure (JobSet's default) deletes its last failed pod at once, and with
    it exit code, reason and log. The pods of a namespace are watched from the first close look at a run of it
    until no program has looked for a while.
    """

    def __init__(self, client: KubeClient) -> None:
        self._client = client
        self._failed: dict[str, FailedPod] = {}
        self._looked: dict[str, float] = {}
        self._watching: dict[str, asyncio.Task[None]] = {}
        self._reading: dict[str, asyncio.Task[None]] = {}

    def look(self, namespace: str) -> None:
        """Watch the pods of a namespace from now on, for a while."""
        self._looked[namespace] = time.monotonic()
        if namespace not in self._watching:
            task = asyncio.get_running_loop().create_task(self._watch(namespace))
            task.add_done_callback(lambda _: self._watching.pop(namespace, None))
            self._watching[namespace] = task

    def failed_pods(self, namespace: str, jobset: JSONObject) -> dict[str, FailedPod]:
        """The pods of the JobSet's present try that failed or ended early, by name; its namespace is watched now."""
        self.look(namespace)
        attempt = str((jobset.get("status") or {}).get("restarts", 0))
        wanted = (jobset["metadata"]["uid"], attempt)
        return {
            each.pod["metadata"]["name"]: each
            for each in self._failed.values()
            if _try(each.pod) == wanted
        }

    async def last_lines(self, pod: JSONObject) -> tuple[str, ...]:
        """The last lines of a failed pod; those that are being read at this moment are awaited."""
        uid = pod["metadata"]["uid"]
        if reading := self._reading.get(uid):
            await asyncio.wait([reading])
        return self._failed[uid].lines if uid in self._failed else ()

    async def close(self) -> None:
        """End every watch."""
        tasks = [*self._watching.values(), *self._reading.values()]
        for each in tasks:
            each.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _watch(self, namespace: str) -> None:
        while time.monotonic() - self._looked[namespace] < IDLE:
            try:
                async with asyncio.timeout(IDLE):
                    await self._changes(ObjectSelection(POD, namespace, names.JOBSET_NAME_LABEL))
            except TimeoutError:
                continue
            except TrainerInfraError:
                await asyncio.sleep(PAUSE)

    async def _changes(self, selection: ObjectSelection) -> None:
        page = await self._client.list(selection)
        for each in page.items:
            self._note(each)
        async with aclosing(self._client.watch(selection, page.resource_version)) as changes:
            async for change in changes:
                if change.type != "BOOKMARK":
                    self._note(change.value)

    def _note(self, pod: JSONObject) -> None:
        uid, container = pod["metadata"]["uid"], _failed_container(pod)
        if container is None and not early_end.is_early(pod):
            return
        known = self._failed.pop(uid, None)
        lines = known.lines if known else ()
        self._failed[uid] = FailedPod(pod, lines)
        while len(self._failed) > MOST:
            self._failed.pop(next(iter(self._failed)))
        # A busy kubelet may not have answered at the first change; the pod has others before it goes.
        if container is not None and not lines and uid not in self._reading:
            task = asyncio.get_running_loop().create_task(self._read(uid, pod, container))
            self._reading[uid] = task
            task.add_done_callback(lambda _: self._reading.pop(uid, None))

    async def _read(self, uid: str, pod: JSONObject, container: str) -> None:
        """Read the pod's last lines while the kubelet still has them."""
        lines: tuple[str, ...] = ()
        with suppress(TrainerInfraError):
            lines = await container_logs.last_lines(self._client, pod, container)
        if lines and uid in self._failed:
            self._failed[uid] = FailedPod(self._failed[uid].pod, lines)


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
    kept: dict[str, tuple[tuple[int, str], ...]] = field(default_factory=dict)
    """Of runs, by UID, the attempts with their causes that it tried to keep last."""
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


def _try(pod: JSONObject) -> tuple[str, str]:
    """The JobSet that a pod is of, and which of its tries."""
    labels = pod["metadata"].get("labels") or {}
    return labels.get(names.JOBSET_UID_LABEL, ""), labels.get(names.RESTART_ATTEMPT_LABEL, "0")


def _failed_container(pod: JSONObject) -> str | None:
    """The container that failed, empty when it is the pod as a whole; None when nothing did."""
    for each in pods.container_statuses(pod):
        for key in ("state", "lastState"):
            ended = (each.get(key) or {}).get("terminated") or {}
            if ended.get("exitCode", 0) != 0:
                return str(each["name"])
    return "" if pods.phase_of(pod) == "Failed" else None
