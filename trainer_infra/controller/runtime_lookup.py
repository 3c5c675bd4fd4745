"""The live runtime that a TrainJob names, from what informers hold, else from the API server.

A runtime that was made a moment ago is found too.
"""

import asyncio
from contextlib import suppress
from typing import Final

from typing_extensions import override

from trainer_infra import names
from trainer_infra.api.runtime import ClusterTrainingRuntime, Runtime, TrainingRuntime
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.controller import object_cache, projection
from trainer_infra.controller.admission_lookups import PATIENCE, ClusterLookups
from trainer_infra.controller.object_cache import ObjectCache, ObjectKey
from trainer_infra.kube.client import KubeClient
from trainer_infra.kube.refusals import NotFound
from trainer_infra.kube.resource import CLUSTER_TRAINING_RUNTIME, TRAINING_RUNTIME

RuntimeKey = tuple[str, ObjectKey]
"""Kind and place."""
_RESOURCES: Final = {
    names.TRAINING_RUNTIME: TRAINING_RUNTIME,
    names.CLUSTER_TRAINING_RUNTIME: CLUSTER_TRAINING_RUNTIME,
}


class RuntimeLookup:
    """Finds runtimes; parses each version of one once."""

    def __init__(self, client: KubeClient, caches: dict[str, ObjectCache]) -> None:
        """Nothing is parsed yet.

        Args:
            client: asked for what no cache has.
            caches: runtimes of each kind.
        """
        self._client = client
        self._caches = caches
        self._parsed: dict[RuntimeKey, tuple[int, Runtime]] = {}

    async def runtime_of(self, job: TrainJob) -> Runtime | None:
        """The runtime that a TrainJob names; None when there is none, or of no kind that is known.

        Raises:
            InvalidInput: It is stored, and cannot be read all the same.
            Answer: The API server does not say.
        """
        key = runtime_key(job)
        if key is None:
            return None
        kind, place = key
        cache, parsed = self._caches[kind], self._parsed.get(key)
        if parsed is not None and cache.version(place) == parsed[0]:
            return parsed[1]
        value = cache.get(place)
        if value is None:
            with suppress(NotFound):
                value = await self._client.get(_RESOURCES[kind], place.name, place.namespace)
        if value is None:
            self._parsed.pop(key, None)
            return None
        model = TrainingRuntime if kind == names.TRAINING_RUNTIME else ClusterTrainingRuntime
        # Its snapshot would otherwise change with who wrote which field.
        runtime = model.from_wire(projection.without_managers(value))
        self._parsed[key] = (object_cache.version_of(value), runtime)
        return runtime


class InformedLookups(ClusterLookups):
    """Lookups of admission, of which runtimes are those that informers hold."""

    def __init__(self, client: KubeClient, runtimes: RuntimeLookup) -> None:
        super().__init__(client)
        self._runtimes = runtimes

    @override
    async def runtime(self, job: TrainJob) -> Runtime | None:
        async with asyncio.timeout(PATIENCE):
            return await self._runtimes.runtime_of(job)


def runtime_key(job: TrainJob) -> RuntimeKey | None:
    """Where a TrainJob's runtime is; None when it names no kind that is known."""
    group, kind, name = job.spec.runtime_ref.named
    if group != names.GROUP or kind not in _RESOURCES:
        return None
    namespace = (job.metadata.namespace or "") if _RESOURCES[kind].namespaced else ""
    return kind, ObjectKey(namespace, name)
