"""The live runtime that a TrainJob names, from what informers hold, else from the API server.

A runtime that was made a moment ago is found too.
"""

from contextlib import suppress
from typing import Final

from trainer_infra import names
from trainer_infra.api.runtime import ClusterTrainingRuntime, Runtime, TrainingRuntime
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.controller.object_cache import ObjectCache, ObjectKey
from trainer_infra.json_values import JSONObject
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
        self._parsed: dict[RuntimeKey, tuple[str, Runtime]] = {}

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
        value = self._caches[kind].get(place)
        if value is None:
            with suppress(NotFound):
                value = await self._client.get(_RESOURCES[kind], place.name, place.namespace)
        if value is None:
            self._parsed.pop(key, None)
            return None
        return self._runtime(key, value)

    def _runtime(self, key: RuntimeKey, value: JSONObject) -> Runtime:
        version = str(value["metadata"]["resourceVersion"])
        known = self._parsed.get(key)
        if known is not None and known[0] == version:
            return known[1]
        model = TrainingRuntime if key[0] == names.TRAINING_RUNTIME else ClusterTrainingRuntime
        runtime = model.from_wire(_stored(value))
        self._parsed[key] = (version, runtime)
        return runtime


def runtime_key(job: TrainJob) -> RuntimeKey | None:
    """Where a TrainJob's runtime is; None when it names no kind that is known."""
    group, kind, name = job.spec.runtime_ref.named
    if group != names.GROUP or kind not in _RESOURCES:
        return None
    namespace = (job.metadata.namespace or "") if _RESOURCES[kind].namespaced else ""
    return kind, ObjectKey(namespace, name)


def _stored(value: JSONObject) -> JSONObject:
    """Without what its snapshot would otherwise change with: who wrote which field."""
    metadata = {key: item for key, item in value["metadata"].items() if key != "managedFields"}
    return {**value, "metadata": metadata}
