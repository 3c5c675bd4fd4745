"""What Kubernetes tells besides the objects of a run: events, nodes, what Kueue has.

An account that may not read one of them gets less to see, not an error. A run that is looked at
alone is asked for object by object; of many runs a few lists that hold troubles only are read, for
all of them.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from typing import Final

from trainer_infra import names
from trainer_infra.cluster import kueue_objects, live_objects
from trainer_infra.cluster.request_cache import RequestCache
from trainer_infra.json_values import JSONObject
from trainer_infra.kube.client import KubeClient, ObjectSelection
from trainer_infra.kube.refusals import Answer
from trainer_infra.kube.resource import EVENT, JOB, NODE
from trainer_infra.runs import pods as pod_facts
from trainer_infra.runs.causes import node, objects, schedule, steps
from trainer_infra.runs.causes.objects import About
from trainer_infra.runs.causes.surroundings import Surroundings, time_of

MOST_NODES: Final = 8
"""Kubernetes nodes that are asked for at most, of one run."""
AGE: Final = 4.0
"""Seconds for which the events of many runs are used."""
OLD: Final = 20.0
"""Seconds after which the Jobs of one of many runs are read, and for which they are used."""
TROUBLES: Final = (
    "involvedObject.kind=JobSet,type=Warning",
    "involvedObject.kind=Job,reason=FailedCreate",
    "involvedObject.kind=Pod,reason=FailedMount",
    "involvedObject.kind=Pod,reason=FailedAttachVolume",
    "involvedObject.kind=Pod,reason=FailedCreatePodSandBox",
)
"""Which events are read of many runs: those of runs that go on are not among them."""
PREEMPTED: Final = f"involvedObject.kind=Pod,reason={schedule.PREEMPTED}"


async def of_run(
    client: KubeClient, cache: RequestCache, jobset: JSONObject, pods: Sequence[JSONObject]
) -> Surroundings:
    """The events that say why a run does not go on; of a suspended JobSet what Kueue has of it."""
    if jobset["spec"].get("suspend"):
        return Surroundings(queueing=await kueue_objects.of_jobset(client, cache, jobset))
    namespace = jobset["metadata"]["namespace"]
    wanted = [
        f"involvedObject.kind={kind},involvedObject.name={name}"
        for kind, name in objects.silent_objects(jobset, pods)
    ]
    if any(map(schedule.is_unschedulable, pods)):
        wanted.append(PREEMPTED)
    found = await live_objects.all_results(
        events_of(client, namespace, fields) for fields in wanted
    )
    jobs = await _jobs(client, jobset) if steps.is_empty(jobset, pods) else None
    return Surroundings(_of(jobset, (each for page in found for each in page)), jobs=jobs)


async def of_one_of_many(
    client: KubeClient, cache: RequestCache, jobset: JSONObject, pods: Sequence[JSONObject]
) -> Surroundings:
    """The same from lists that are read once for all runs of the namespace."""
    if jobset["spec"].get("suspend"):
        queueing = await kueue_objects.of_jobset(client, cache, jobset, many=True)
        return Surroundings(queueing=queueing)
    silent = objects.silent_objects(jobset, pods)
    if not silent:
        return Surroundings()
    namespace = jobset["metadata"]["namespace"]
    by_object = await cache.answer(
        ("troubles", namespace), partial(_troubles, client, namespace), AGE
    )
    found = _of(jobset, (each for one in silent for each in by_object.get(one, ())))
    jobs = None
    if not found and steps.is_empty(jobset, pods) and _is_old(jobset):
        key = ("jobs", namespace, jobset["metadata"]["name"])
        jobs = await cache.answer(key, partial(_jobs, client, jobset), OLD)
    return Surroundings(found, jobs=jobs)


async def nodes_of(
    client: KubeClient, cache: RequestCache, pods: Iterable[JSONObject]
) -> dict[str, JSONObject]:
    """The Kubernetes nodes of pods that are not ready, by name, as far as they may be read."""
    wanted = sorted({pod_facts.node_of(each) for each in pods if node.is_suspicious(each)})
    found: dict[str, JSONObject] = {}
    for name in wanted[:MOST_NODES]:
        with suppress(Answer):
            found[name] = await cache.answer(("node", name), partial(client.get, NODE, name))
    return found


def in_order(events: Iterable[JSONObject]) -> list[JSONObject]:
    """Events by time, the oldest first."""
    return sorted(events, key=time_of)


def is_since(event: JSONObject, begin: str) -> bool:
    """Whether an event is not from before a time; some have whole seconds, others parts of them."""
    return time_of(event)[:19] >= begin[:19]


async def events_of(client: KubeClient, namespace: str, fields: str) -> Sequence[JSONObject]:
    """Events of a namespace by a field selector; none where they may not be read."""
    with suppress(Answer):
        return (await client.list(ObjectSelection(EVENT, namespace, fields=fields))).items
    return ()


def _of(jobset: JSONObject, found: Iterable[JSONObject]) -> list[JSONObject]:
    """Those that are not from an earlier run of the same name, the oldest first."""
    created = jobset["metadata"].get("creationTimestamp") or ""
    return in_order(each for each in found if is_since(each, created))


async def _troubles(client: KubeClient, namespace: str) -> Mapping[About, list[JSONObject]]:
    pages = await live_objects.all_results(
        events_of(client, namespace, fields) for fields in TROUBLES
    )
    found: dict[About, list[JSONObject]] = {}
    for each in (event for page in pages for event in page):
        about = each["involvedObject"]
        found.setdefault((about.get("kind", ""), about.get("name", "")), []).append(each)
    return found


async def _jobs(client: KubeClient, jobset: JSONObject) -> Sequence[JSONObject] | None:
    """The Jobs of the JobSet; None where they may not be read."""
    metadata = jobset["metadata"]
    labels = f"{names.JOBSET_NAME_LABEL}={metadata['name']}"
    with suppress(Answer):
        return (await client.list(ObjectSelection(JOB, metadata["namespace"], labels))).items
    return None


def _is_old(jobset: JSONObject) -> bool:
    """Whether its Jobs have had time to make pods."""
    created = jobset["metadata"].get("creationTimestamp")
    return bool(created) and time.time() - datetime.fromisoformat(created).timestamp() > OLD
