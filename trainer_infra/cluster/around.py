"""What Kubernetes tells besides the objects of a run: events, nodes, Kueue's Workload.

Called by `look`, for a run that waits or whose pods are not ready. Whoever may not read one of them
gets less to see, not an error.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final

from trainer_infra.cluster import pods as of_pods
from trainer_infra.cluster import stuck, together, waiting_for
from trainer_infra.cluster.fresh import Fresh
from trainer_infra.cluster.waiting_for import Around
from trainer_infra.kube.client import KubeClient, Selection
from trainer_infra.kube.refusals import Answer, NotServed
from trainer_infra.kube.resource import EVENT, NODE

JSON = Mapping[str, Any]

MOST_NODES: Final = 8
"""Kubernetes nodes that are asked for at most, of one run."""
MOST_PODS: Final = 3
"""Pods whose events are read at most."""
WORKLOAD: Final = ("kueue.x-k8s.io/v1beta1", "Workload")
WORKLOAD_OF: Final = "kueue.x-k8s.io/job-uid"


async def of_run(client: KubeClient, jobset: JSON, pods: Sequence[JSON]) -> Around:
    """Events of pods that start, or of Jobs without pods; the Workload of a suspended JobSet."""
    workload = None
    if jobset["spec"].get("suspend"):
        return Around(workload=await _workload(client, jobset))
    starting = [each for each in pods if waiting_for.is_starting(each)][:MOST_PODS]
    found: list[JSON] = []
    for each in await together.all_of(_of_pod(client, pod) for pod in starting):
        found += each
    if not pods:
        found += await _of_jobs(client, jobset)
    return Around(in_order(found), workload)


async def nodes_of(client: KubeClient, fresh: Fresh, pods: Iterable[JSON]) -> dict[str, JSON]:
    """The Kubernetes nodes of pods that are not ready, by name, as far as they may be read."""
    names = sorted({of_pods.node(each) for each in pods if stuck.is_suspicious(each)})[:MOST_NODES]
    found: dict[str, JSON] = {}
    for name in names:
        with suppress(Answer):
            found[name] = await fresh.of(("node", name), partial(client.get, NODE, name))
    return found


def in_order(events: Iterable[JSON]) -> list[JSON]:
    """Events by time, the oldest first."""
    return sorted(events, key=time_of)


def time_of(event: JSON) -> str:
    """When it happened last; RFC 3339."""
    series = (event.get("series") or {}).get("lastObservedTime")
    times = (series, event.get("lastTimestamp"), event.get("eventTime"))
    found = next((each for each in times if each), event["metadata"].get("creationTimestamp"))
    return str(found or "")


async def events(client: KubeClient, namespace: str, fields: str) -> Sequence[JSON]:
    """Events of a namespace by a field selector; none where they may not be read."""
    with suppress(Answer):
        return (await client.list(Selection(EVENT, namespace, fields=fields))).items
    return ()


async def _of_pod(client: KubeClient, pod: JSON) -> Sequence[JSON]:
    metadata = pod["metadata"]
    fields = f"involvedObject.kind=Pod,involvedObject.name={metadata['name']}"
    return await events(client, metadata["namespace"], fields)


async def _of_jobs(client: KubeClient, jobset: JSON) -> Sequence[JSON]:
    metadata = jobset["metadata"]
    found = await events(client, metadata["namespace"], "involvedObject.kind=Job")
    mine = {each["name"] for each in jobset["spec"].get("replicatedJobs") or ()}
    return [
        each
        for each in found
        if _step(each["involvedObject"].get("name", ""), metadata["name"]) in mine
    ]


def _step(job: str, jobset: str) -> str:
    """The replicated job of a Job's name; empty for another JobSet's."""
    if not job.startswith(f"{jobset}-"):
        return ""
    return job.removeprefix(f"{jobset}-").rpartition("-")[0]


async def _workload(client: KubeClient, jobset: JSON) -> JSON | None:
    with suppress(Answer, NotServed):
        kind = await client.resource(*WORKLOAD)
        labels = f"{WORKLOAD_OF}={jobset['metadata']['uid']}"
        page = await client.list(Selection(kind, jobset["metadata"]["namespace"], labels))
        return page.items[0] if page.items else None
    return None
