"""Pods that failed while a program looked, kept when Kubernetes deletes them.

A Job whose pods have restartPolicy OnFailure (JobSet's default) deletes its last failed pod at
once, and with it exit code, reason and log. Asked by a `Session` for a run that is looked at
closely: the pods of its namespace are watched from then on, until no program has looked for a
while.
"""

import asyncio
import time
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import Final

from trainer_infra import names
from trainer_infra.cluster import container_logs
from trainer_infra.errors import TrainerInfraError
from trainer_infra.json_values import JSONObject
from trainer_infra.kube.client import KubeClient, ObjectSelection
from trainer_infra.kube.resource import POD
from trainer_infra.runs import pods

IDLE: Final = 15.0
"""Seconds after the last look at which watching ends."""
MOST: Final = 256
"""Failed pods that are kept of a cluster; the oldest go."""
PAUSE: Final = 1.0
"""Seconds before a watch that failed begins anew."""


@dataclass(frozen=True, slots=True)
class FailedPod:
    """A pod that failed, as it was last seen."""

    pod: JSONObject
    lines: tuple[str, ...] = ()
    """The last lines of its log, where they could still be read."""


class LastSeenPods:
    """Failed pods of the namespaces that are looked at; lives in one event loop."""

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
        """The failed pods of the JobSet's present try, by name; its namespace is watched now."""
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
        if container is None:
            return
        known = self._failed.pop(uid, None)
        lines = known.lines if known else ()
        self._failed[uid] = FailedPod(pod, lines)
        while len(self._failed) > MOST:
            self._failed.pop(next(iter(self._failed)))
        # A busy kubelet may not have answered at the first change; the pod has others before it goes.
        if not lines and uid not in self._reading:
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
