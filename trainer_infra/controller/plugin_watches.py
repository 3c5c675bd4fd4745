"""What plugins have followed besides TrainJobs, JobSets and runtimes: `Plugin.watches`.

The manager runs it while it leads. ConfigMaps and Secrets are left out, for every plugin: the right to
watch them is the right to read those of all users (docs/decisions/0031). Rules: WatchExtension in reference
behaviour 2.1, and 3.8 for the kinds.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from trainer_infra import names
from trainer_infra.api.runtime import Runtime
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.controller import child_memory, projection
from trainer_infra.controller.child_memory import Child
from trainer_infra.controller.informer import Informer, ObjectCache, ObjectKey
from trainer_infra.controller.runtime_lookup import RuntimeLookup
from trainer_infra.errors import InvalidInput, TrainerInfraError
from trainer_infra.json_values import JSONObject
from trainer_infra.kube.client import KubeClient, ObjectSelection
from trainer_infra.kube.resource import CONFIG_MAP, JOBSET, SECRET, Resource
from trainer_infra.render.phases import Plugin, Watch

PAUSE: Final = 60.0
"""Seconds until a kind that the cluster does not serve is asked for again."""
_LEFT_OUT: Final = {(each.api_version, each.kind) for each in (CONFIG_MAP, SECRET, JOBSET)}
_AT_A_TIME: Final = 50
"""TrainJobs that are asked about before other work goes on."""

_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Wakers:
    """What an event may lead to."""

    wake: Callable[[ObjectKey], None]
    """Have a TrainJob looked at."""
    lose: Callable[[ObjectKey, Child], None]
    """A TrainJob has lost a child."""


class PluginWatches:
    """Follows those kinds, and wakes TrainJobs."""

    def __init__(
        self,
        client: KubeClient,
        plugins: Sequence[Plugin],
        train_jobs: ObjectCache,
        runtimes: RuntimeLookup,
        wakers: Wakers,
    ) -> None:
        self._client = client
        self._train_jobs = train_jobs
        self._runtimes = runtimes
        self._wakers = wakers
        self._kinds: dict[tuple[str, str], list[Watch]] = {}
        for watch in (each for plugin in plugins for each in plugin.watches):
            kind = (watch.api_version, watch.kind)
            if kind not in _LEFT_OUT:
                self._kinds.setdefault(kind, []).append(watch)

    async def run(self) -> None:
        """Follow them until this is cancelled."""
        async with asyncio.TaskGroup() as group:
            for (api_version, kind), watches in self._kinds.items():
                group.create_task(self._follow(api_version, kind, watches))

    async def _follow(self, api_version: str, kind: str, watches: Sequence[Watch]) -> None:
        resource = await self._served(api_version, kind)
        is_asked = any(each.wakes for each in watches)
        cache = ObjectCache(projection.without_managers if is_asked else projection.of_child)
        changes: asyncio.Queue[ObjectKey] = asyncio.Queue()
        informer = Informer(self._client, ObjectSelection(resource), cache, changes.put_nowait)
        async with asyncio.TaskGroup() as group:
            group.create_task(informer.run())
            await informer.has_synced.wait()
            # What was there before concerns no TrainJob: each one is looked at in the beginning.
            known = {key: value for key in cache if (value := cache.get(key)) is not None}
            while not changes.empty():
                changes.get_nowait()
            while True:
                key = await changes.get()
                now = cache.get(key)
                before = known.pop(key, None)
                if now is not None:
                    known[key] = now
                if value := now or before:
                    await self._tell_safely(value, watches, is_gone=now is None)

    async def _served(self, api_version: str, kind: str) -> Resource:
        """The kind, once the cluster serves it."""
        while True:
            try:
                return await self._client.resource(api_version, kind)
            except TrainerInfraError as error:
                _log.debug("%s cannot be followed now: %s", kind, error)
                await asyncio.sleep(PAUSE)

    async def _tell_safely(
        self, value: JSONObject, watches: Sequence[Watch], *, is_gone: bool
    ) -> None:
        try:
            await self._tell(value, watches, is_gone=is_gone)
        except Exception:  # noqa: BLE001  a plugin's mistake about one object must not stop the others
            metadata = value["metadata"]
            _log.exception("a plugin failed at %s %s", value["kind"], metadata["name"])

    async def _tell(self, value: JSONObject, watches: Sequence[Watch], *, is_gone: bool) -> None:
        if any(each.wakes is None for each in watches):
            for owner in _owning_train_jobs(value):
                if is_gone:
                    self._wakers.lose(owner, child_memory.child_of(value))
                self._wakers.wake(owner)
        asked = [each.wakes for each in watches if each.wakes is not None]
        for number, key in enumerate(tuple(self._train_jobs) if asked else ()):
            if number % _AT_A_TIME == 0:
                await asyncio.sleep(0)
            if await self._is_woken(value, key, asked):
                self._wakers.wake(key)

    async def _is_woken(
        self,
        value: JSONObject,
        key: ObjectKey,
        asked: Sequence[Callable[[JSONObject, TrainJob, Runtime], bool]],
    ) -> bool:
        stored = self._train_jobs.get(key)
        if stored is None:
            return False
        try:
            job = TrainJob.from_wire(stored)
            runtime = await self._runtimes.runtime_of(job)
        except InvalidInput:
            return False  # a look at it says so
        except TrainerInfraError as error:
            _log.warning("the runtime of TrainJob %s cannot be asked for: %s", key.name, error)
            return True
        return runtime is not None and any(each(value, job, runtime) for each in asked)


def _owning_train_jobs(value: JSONObject) -> tuple[ObjectKey, ...]:
    metadata = value["metadata"]
    return tuple(
        ObjectKey(metadata.get("namespace") or "", each["name"])
        for each in metadata.get("ownerReferences") or ()
        if each.get("controller") and each["kind"] == names.TRAIN_JOB
    )
