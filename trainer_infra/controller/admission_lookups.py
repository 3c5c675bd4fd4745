"""What a judgement of admission asks of a cluster, and the answers of an API server.

`ClusterLookups` asks with GETs alone; the manager may give its own, whose cache misses go to the
API server. What is asked when: `lifecycle.admission.needed_objects`.
"""

from collections.abc import Collection
from typing import Final, Protocol

from typing_extensions import override

from trainer_infra import names
from trainer_infra.api.runtime import ClusterTrainingRuntime, Runtime, TrainingRuntime
from trainer_infra.api.trainjob import TrainJob
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
    """What is in the cluster.

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
    """Lookups in an API server, each anew."""

    def __init__(self, client: KubeClient, patience: float = PATIENCE) -> None:
        self._client = client
        self._patience = patience

    @override
    async def runtime(self, job: TrainJob) -> Runtime | None:
        _, kind, name = job.spec.runtime_ref.named
        if kind == names.TRAINING_RUNTIME:
            namespace = names.namespace_of(job.metadata.namespace)
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
