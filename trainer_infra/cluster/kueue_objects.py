"""Reading what Kueue has of a JobSet: its Workload, the ClusterQueue behind it, priority classes.

Who may not read one of them gets less to see, not an error.
"""

from collections.abc import Iterable
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from typing import Final, TypeAlias

from trainer_infra import names
from trainer_infra.cluster import live_objects
from trainer_infra.cluster.request_cache import RequestCache
from trainer_infra.json_values import JSONObject
from trainer_infra.kube.client import KubeClient, ObjectSelection
from trainer_infra.kube.refusals import Answer, NotFound, NotServed
from trainer_infra.kube.resource import Resource
from trainer_infra.runs.causes import kueue_workload

Queue: TypeAlias = tuple[str, str]
"""Namespace and name of a LocalQueue."""

VERSIONS: Final = (f"{names.KUEUE_GROUP}/v1beta2", f"{names.KUEUE_GROUP}/v1beta1")
"""The one that is wanted most first."""
WORKLOAD: Final = "Workload"
WORKLOAD_OF: Final = "kueue.x-k8s.io/job-uid"
"""Label of a Workload: the UID of its JobSet."""
_PRIORITY_CLASS: Final = Resource(
    "scheduling.k8s.io/v1", "PriorityClass", "priorityclasses", namespaced=False
)


async def is_served(client: KubeClient) -> bool:
    """Whether the cluster has Kueue's kinds."""
    return await _kind(client, WORKLOAD) is not None


async def of_jobset(
    client: KubeClient, cache: RequestCache, jobset: JSONObject, *, many: bool = False
) -> kueue_workload.Queueing | None:
    """What there is of a suspended JobSet in a queue; None of another one.

    With `many` others of its namespace are asked for too, so that one list serves all.
    """
    if not kueue_workload.is_held(jobset):
        return None
    try:
        kind = await cache.answer(WORKLOAD, partial(_kind, client, WORKLOAD))
        if kind is None:
            return kueue_workload.Queueing(served=False)
        workload = await _workload(client, cache, kind, jobset, many=many)
    except NotServed:  # Kueue was taken away since its kind was found
        return kueue_workload.Queueing(served=False)
    except Answer:
        return kueue_workload.Queueing(readable=False)
    if workload is None:
        return kueue_workload.Queueing(missing=await _missing_class(client, cache, jobset))
    return kueue_workload.Queueing(
        workload=workload, cluster_queue=await _cluster_queue(client, cache, workload)
    )


async def workload_of(client: KubeClient, jobset: JSONObject) -> JSONObject | None:
    """The JobSet's Workload; None where there is none.

    Raises:
        NotServed: The cluster has no Kueue.
        Answer: Workloads may not be read.
    """
    kind = await _kind(client, WORKLOAD)
    if kind is None:
        raise NotServed(client.server, VERSIONS[0], WORKLOAD)
    return await _workload(client, RequestCache(), kind, jobset, many=False)


async def managing_workload(client: KubeClient, job: JSONObject) -> str:
    """The Workload by which Kueue manages a JobSet or TrainJob; empty where no Kueue does."""
    if not kueue_workload.queue_of(job):
        return ""
    try:
        workload = await workload_of(client, job)
    except NotServed:
        return ""
    except Answer:
        # Who may not read Workloads cannot know that there is none.
        return "its Workload"
    if workload is not None:
        return f"Workload {workload['metadata']['name']}"
    late = kueue_workload.is_late(job, datetime.now(UTC))
    return "" if late else "the Workload that Kueue is about to make"


async def without_local_queue(
    client: KubeClient, cache: RequestCache, queues: Iterable[Queue]
) -> set[Queue]:
    """Those queues that are known not to be there."""
    kind = await _kind(client, names.LOCAL_QUEUE)
    if kind is None:
        return set()
    missing = set()
    for namespace, name in queues:
        ask = partial(_is_there, client, kind, name, namespace)
        if not await cache.answer((names.LOCAL_QUEUE, namespace, name), ask):
            missing.add((namespace, name))
    return missing


async def _workload(
    client: KubeClient, cache: RequestCache, kind: Resource, jobset: JSONObject, *, many: bool
) -> JSONObject | None:
    uid, namespace = jobset["metadata"]["uid"], jobset["metadata"]["namespace"]
    label = WORKLOAD_OF if many else f"{WORKLOAD_OF}={uid}"
    selection = ObjectSelection(kind, namespace, label)
    page = await cache.answer(selection, partial(client.list, selection))
    found = (each for each in page.items if each["metadata"]["labels"][WORKLOAD_OF] == uid)
    return next(found, None)


async def _cluster_queue(
    client: KubeClient, cache: RequestCache, workload: JSONObject
) -> JSONObject | None:
    namespace, name = workload["metadata"]["namespace"], workload["spec"].get("queueName", "")
    local = await _read(client, cache, names.LOCAL_QUEUE, name, namespace)
    if local is None:
        return None
    return await _read(client, cache, names.CLUSTER_QUEUE, local["spec"]["clusterQueue"])


async def _missing_class(client: KubeClient, cache: RequestCache, jobset: JSONObject) -> str:
    """The priority class that Kueue looks for and that is not there: kind and name."""
    name = (jobset["metadata"].get("labels") or {}).get(names.KUEUE_PRIORITY_LABEL, "")
    kind: Resource | None = _PRIORITY_CLASS
    if name:
        kind = await _kind(client, "WorkloadPriorityClass")
    else:
        pods = (
            each["template"]["spec"]["template"]["spec"]
            for each in jobset["spec"].get("replicatedJobs") or ()
        )
        name = next(filter(None, (each.get("priorityClassName") for each in pods)), "")
    if not name or kind is None:
        return ""
    there = await cache.answer((kind, name), partial(_is_there, client, kind, name))
    return "" if there else f"{kind.kind} {name}"


async def _read(
    client: KubeClient, cache: RequestCache, kind: str, name: str, namespace: str = ""
) -> JSONObject | None:
    """An object of Kueue's; None where it is not there or may not be read."""
    with suppress(Answer, NotServed):
        resource = await _kind(client, kind)
        if resource is not None:
            ask = partial(client.get, resource, name, namespace)
            return await cache.answer((kind, namespace, name), ask)
    return None


async def _is_there(client: KubeClient, kind: Resource, name: str, namespace: str = "") -> bool:
    """Whether there is such an object, or that may not be known."""
    try:
        await client.get(kind, name, namespace)
    except NotFound:
        return False
    except (Answer, NotServed):
        return True
    return True


async def _kind(client: KubeClient, kind: str) -> Resource | None:
    """A kind of Kueue's in the best version that is served."""
    for version in VERSIONS:
        if found := await live_objects.served_kind(client, version, kind):
            return found
    return None
