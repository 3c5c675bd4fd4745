"""What a cluster says of a run besides its JobSet: logs, events, nodes, what Kueue has.

An account that may not read one of them gets less to see, not an error. One run that a person looks at is
read closely, object by object; of many that are looked at in a moment a few lists are read for all of them,
of events those that hold troubles only.
"""

import asyncio
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Final

from trainer_infra import names
from trainer_infra.cluster import container_logs, kueue_objects, live_objects
from trainer_infra.cluster.session import FailedPod, Session
from trainer_infra.json_values import JSONObject
from trainer_infra.kube.client import ObjectSelection
from trainer_infra.kube.refusals import Answer
from trainer_infra.kube.resource import EVENT, JOB, NODE
from trainer_infra.lifecycle import early_end
from trainer_infra.render import resolve
from trainer_infra.render.observed_objects import ObservedObjects
from trainer_infra.runs import hangs, view
from trainer_infra.runs import pods as pod_facts
from trainer_infra.runs.causes import node, objects, schedule, steps
from trainer_infra.runs.causes.surroundings import Surroundings, time_of
from trainer_infra.runs.run import Run, RunKey
from trainer_infra.runs.view import Observation

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


async def with_surroundings(session: Session, seen: Observation, *, closely: bool) -> Observation:
    """What is seen of a run that goes on, with events, nodes and, closely or where hangs are watched for, its logs' lines."""
    if seen.jobset is None:
        return seen
    nodes = await nodes_of(session, seen.pods)
    reads = closely or hangs.is_watched(seen.jobset)
    around, lines = await asyncio.gather(
        surroundings_of(session, seen.jobset, seen.pods, closely=closely),
        _lines(session, seen.jobset, seen.pods, nodes if reads else None),
    )
    return replace(seen, surroundings=replace(around, nodes=nodes), lines=lines)


async def without_jobset(session: Session, keeper: JSONObject, seen: Observation) -> Observation:
    """What is seen of a run without a JobSet, with what a controller says of its stored TrainJob."""
    if session.store.holder_first:
        return seen
    metadata = keeper["metadata"]
    fields = f"involvedObject.kind={names.TRAIN_JOB},involvedObject.name={metadata['name']}"
    found = await events_of(session, metadata["namespace"], fields)
    since = events_since(found, metadata["creationTimestamp"])
    return replace(seen, surroundings=Surroundings(since))


async def with_reason(session: Session, seen: Observation, run: Run) -> Observation:
    """What is seen of a run that failed: its Jobs, where one may be late, and the log of its pod."""
    if run.failure is None or _has_deadline(seen.jobset):
        with suppress(Answer):
            jobs = await live_objects.objects_of_jobset(session.client, JOB, run.key)
            seen = replace(seen, jobs=jobs)
    if run.failure is None:
        return seen
    name = run.failure.pod
    pod = next(each for each in seen.pods if pod_facts.name(each) == name)
    container = view.failed_container(seen.pods)
    lines = await container_logs.last_lines(session.client, pod, container)
    return replace(seen, lines={name: lines or await session.last_seen.last_lines(pod)})


async def with_ends(session: Session, seen: Observation, *, closely: bool) -> Observation:
    """What is seen of a run whose JobSet has completed, with its Jobs, and events where a pod of theirs is gone.

    Unless closely, from lists that are read once for all runs of the namespace.

    Raises:
        Answer: This account may not read Jobs.
    """
    if not session.store.holder_first or seen.jobset is None:
        # What decides the status of a stored TrainJob has looked itself.
        return seen
    metadata = seen.jobset["metadata"]
    key = RunKey(metadata["namespace"], metadata["name"])
    if closely:
        jobs = await live_objects.objects_of_jobset(session.client, JOB, key)
    else:
        every = await session.objects(JOB, key.namespace, names.JOBSET_NAME_LABEL)
        jobs = tuple(each for each in every.values() if live_objects.is_of(each, metadata["uid"]))
    seen = replace(seen, jobs=jobs)
    if not early_end.pod_ends(ObservedObjects(None, pods=seen.pods, jobs=jobs)).unknown:
        return seen
    ask = partial(_ends, session, key.namespace)
    found = await (ask() if closely else session.cache.answer(("ends", key.namespace), ask, AGE))
    return replace(seen, pod_events=found)


async def _ends(session: Session, namespace: str) -> tuple[JSONObject, ...]:
    wanted = (events_of(session, namespace, fields) for fields in early_end.EVENT_FIELDS)
    return tuple(each for page in await live_objects.all_results(wanted) for each in page)


def _has_deadline(jobset: JSONObject | None) -> bool:
    jobs = ((jobset or {}).get("spec") or {}).get("replicatedJobs") or ()
    return any(each["template"]["spec"].get("activeDeadlineSeconds") for each in jobs)


def with_failed(
    pods: Sequence[JSONObject], failed: Mapping[str, FailedPod]
) -> tuple[JSONObject, ...]:
    """The pods, and those that failed and were deleted since."""
    live = {pod_facts.name(each) for each in pods}
    return (*pods, *(each.pod for name, each in failed.items() if name not in live))


async def _lines(
    session: Session,
    jobset: JSONObject,
    pods: Sequence[JSONObject],
    nodes: Mapping[str, JSONObject] | None,
) -> Mapping[str, tuple[str, ...]]:
    """The last lines of the pods that train on nodes that answer; none without nodes."""
    if nodes is None:
        return {}
    training = resolve.trainer_jobs(jobset["spec"])
    wanted = (each for each in pods if pod_facts.step_of(each) in training)
    return await container_logs.last_lines_by_pod(
        session.client, (each for each in wanted if not node.is_lost(each, nodes))
    )


async def surroundings_of(
    session: Session, jobset: JSONObject, pods: Sequence[JSONObject], *, closely: bool
) -> Surroundings:
    """The events that say why a run does not go on; of a suspended JobSet what Kueue has of it.

    Unless closely, from lists that are read once for all runs of the namespace.
    """
    if jobset["spec"].get("suspend"):
        client, cache = session.client, session.cache
        queueing = await kueue_objects.of_jobset(client, cache, jobset, many=not closely)
        return Surroundings(queueing=queueing)
    if closely:
        return await _of_one(session, jobset, pods)
    return await _of_one_of_many(session, jobset, pods)


async def _of_one(session: Session, jobset: JSONObject, pods: Sequence[JSONObject]) -> Surroundings:
    namespace = jobset["metadata"]["namespace"]
    wanted = [
        f"involvedObject.kind={kind},involvedObject.name={name}"
        for kind, name in objects.silent_objects(jobset, pods)
    ]
    if any(map(schedule.is_unschedulable, pods)):
        wanted.append(PREEMPTED)
    found = await live_objects.all_results(
        events_of(session, namespace, fields) for fields in wanted
    )
    jobs = await _jobs(session, jobset) if steps.is_empty(jobset, pods) else None
    return Surroundings(_of(jobset, (each for page in found for each in page)), jobs=jobs)


async def _of_one_of_many(
    session: Session, jobset: JSONObject, pods: Sequence[JSONObject]
) -> Surroundings:
    silent = objects.silent_objects(jobset, pods)
    if not silent:
        return Surroundings()
    namespace = jobset["metadata"]["namespace"]
    by_object = await session.cache.answer(
        ("troubles", namespace), partial(_troubles, session, namespace), AGE
    )
    found = _of(jobset, (each for one in silent for each in by_object.get(one, ())))
    jobs = None
    if not found and steps.is_empty(jobset, pods) and _is_old(jobset):
        key = ("jobs", namespace, jobset["metadata"]["name"])
        jobs = await session.cache.answer(key, partial(_jobs, session, jobset), OLD)
    return Surroundings(found, jobs=jobs)


async def nodes_of(session: Session, pods: Iterable[JSONObject]) -> dict[str, JSONObject]:
    """The Kubernetes nodes of pods that are not ready, by name, as far as they may be read."""
    wanted = sorted({pod_facts.node_of(each) for each in pods if node.is_suspicious(each)})
    found: dict[str, JSONObject] = {}
    for name in wanted[:MOST_NODES]:
        with suppress(Answer):
            ask = partial(session.client.get, NODE, name)
            found[name] = await session.cache.answer(("node", name), ask)
    return found


def events_since(events: Iterable[JSONObject], begin: str) -> list[JSONObject]:
    """Events that are not from before a time, the oldest first; some have whole seconds, others parts of them."""
    return sorted((each for each in events if time_of(each)[:19] >= begin[:19]), key=time_of)


async def events_of(session: Session, namespace: str, fields: str) -> Sequence[JSONObject]:
    """Events of a namespace by a field selector; none where they may not be read."""
    with suppress(Answer):
        selection = ObjectSelection(EVENT, namespace, fields=fields)
        return (await session.client.list(selection)).items
    return ()


def _of(jobset: JSONObject, found: Iterable[JSONObject]) -> list[JSONObject]:
    """Those that are not from an earlier run of the same name, the oldest first."""
    return events_since(found, jobset["metadata"].get("creationTimestamp") or "")


async def _troubles(session: Session, namespace: str) -> Mapping[objects.About, list[JSONObject]]:
    pages = await live_objects.all_results(
        events_of(session, namespace, fields) for fields in TROUBLES
    )
    found: dict[objects.About, list[JSONObject]] = {}
    for each in (event for page in pages for event in page):
        about = each["involvedObject"]
        found.setdefault((about.get("kind", ""), about.get("name", "")), []).append(each)
    return found


async def _jobs(session: Session, jobset: JSONObject) -> Sequence[JSONObject] | None:
    """The Jobs of the JobSet; None where they may not be read."""
    key = RunKey(jobset["metadata"]["namespace"], jobset["metadata"]["name"])
    with suppress(Answer):
        return await live_objects.objects_of_jobset(session.client, JOB, key)
    return None


def _is_old(jobset: JSONObject) -> bool:
    """Whether its Jobs have had time to make pods."""
    created = jobset["metadata"].get("creationTimestamp")
    return bool(created) and time.time() - datetime.fromisoformat(created).timestamp() > OLD
