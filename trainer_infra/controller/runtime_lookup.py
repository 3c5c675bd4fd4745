"""The live runtime that a TrainJob names, from what informers hold, else from the API server.

A runtime that was made a moment ago is found too.
"""

import asyncio
from collections.abc import Collection
from contextlib import suppress
from typing import Final, Protocol

from typing_extensions import override

from trainer_infra import names
from trainer_infra.api.runtime import ClusterTrainingRuntime, Runtime, TrainingRuntime
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.controller import informer, projection
from trainer_infra.controller.informer import ObjectCache, ObjectKey
from trainer_infra.json_values import JSONObject
from trainer_infra.kube.client import KubeClient
from trainer_infra.kube.refusals import Forbidden, NotFound, NotServed
from trainer_infra.kube.resource import (
    CLUSTER_TRAINING_RUNTIME,
    CONFIG_MAP,
    JOBSET,
    TRAINING_RUNTIME,
    Resource,
)

PRIORITY_CLASS: Final = Resource(
    "scheduling.k8s.io/v1", "PriorityClass", "priorityclasses", namespaced=False
)
PATIENCE: Final = 8.0
"""Seconds for one lookup: the API server waits 10 for the whole answer."""


class AdmissionLookups(Protocol):
    """What a judgement of admission asks of a cluster; what is asked when: `lifecycle.admission.needed_objects`.

    Every method may raise what a KubeClient raises, and TimeoutError; the judgement is then 500.
    """

    async def runtime(self, job: TrainJob) -> Runtime | None:
        """The live runtime that a TrainJob names; None where there is none.

        Raises:
            InvalidInput: There is one, and it cannot be read.
        """

    async def jobset(self, job: TrainJob) -> JSONObject | None:
        """The JobSet of a TrainJob, with its status; None where there is none."""

    async def snapshot(self, job: TrainJob) -> JSONObject | None:
        """The ConfigMap with a TrainJob's runtime; None where there is none."""

    async def priority_classes(self, wanted: Collection[str]) -> Collection[str] | None:
        """Those PriorityClasses of some that exist; None leaves them to the API server."""


class ClusterLookups(AdmissionLookups):
    """Lookups in an API server, each anew, with GETs alone; the manager gives `InformedLookups`."""

    def __init__(self, client: KubeClient, patience: float = PATIENCE) -> None:
        self._client = client
        self._patience = patience

    @override
    async def runtime(self, job: TrainJob) -> Runtime | None:
        _, kind, name = job.spec.runtime_ref.named
        if kind == names.TRAINING_RUNTIME:
            namespace = job.metadata.namespace or names.DEFAULT_NAMESPACE
            found = await self._found(TRAINING_RUNTIME, name, namespace)
            return None if found is None else TrainingRuntime.from_wire(found)
        found = await self._found(CLUSTER_TRAINING_RUNTIME, name)
        return None if found is None else ClusterTrainingRuntime.from_wire(found)

    @override
    async def jobset(self, job: TrainJob) -> JSONObject | None:
        try:
            return await self._found(JOBSET, job.metadata.name, job.metadata.namespace or "")
        except NotServed:  # JobSet is not installed, so there is no JobSet.
            return None

    @override
    async def snapshot(self, job: TrainJob) -> JSONObject | None:
        name = f"{job.metadata.name}{names.SNAPSHOT_SUFFIX}"
        return await self._found(CONFIG_MAP, name, job.metadata.namespace or "")

    @override
    async def priority_classes(self, wanted: Collection[str]) -> Collection[str] | None:
        try:
            return [each for each in wanted if await self._found(PRIORITY_CLASS, each)]
        except Forbidden:  # A role without this right is sound: the API server judges each pod.
            return None

    async def _found(self, resource: Resource, name: str, namespace: str = "") -> JSONObject | None:
        try:
            return await self._client.within(self._patience).get(resource, name, namespace)
        except NotFound:
            return None


RuntimeKey = tuple[str, ObjectKey]
"""Kind and place."""
_RESOURCES: Final = {
    names.TRAINING_RUNTIME: TRAINING_RUNTIME,
    names.CLUSTER_TRAINING_RUNTIME: CLUSTER_TRAINING_RUNTIME,
}


class RuntimeLookup:
    """Finds runtimes in the caches of each kind, else asks for them; parses each version of one once."""

    def __init__(self, client: KubeClient, caches: dict[str, ObjectCache]) -> None:
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
        self._parsed[key] = (informer.version_of(value), runtime)
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
