"""What a cluster says of a run besides its JobSet: what every engine on Kubernetes looks at.

One run that a person looks at is read closely: logs for its progress, events and nodes for what it
waits for. Of many that are looked at in a moment, one list of each kind is read.
"""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from trainer_infra import names
from trainer_infra.cluster import container_logs, events, live_objects
from trainer_infra.cluster.session import FailedPod, Session
from trainer_infra.json_values import JSONObject
from trainer_infra.kube.refusals import Answer
from trainer_infra.kube.resource import JOB
from trainer_infra.render import resolve
from trainer_infra.runs import pods as run_pods
from trainer_infra.runs import view
from trainer_infra.runs.causes import node
from trainer_infra.runs.causes.surroundings import Surroundings
from trainer_infra.runs.run import Run
from trainer_infra.runs.view import Observation


async def with_surroundings(session: Session, seen: Observation, *, closely: bool) -> Observation:
    """What is seen of a run that goes on, with events, nodes and, closely, the lines of its logs."""
    if seen.jobset is None:
        return seen
    nodes = await events.nodes_of(session, seen.pods)
    around, lines = await asyncio.gather(
        events.surroundings_of(session, seen.jobset, seen.pods, closely=closely),
        _lines(session, seen.jobset, seen.pods, nodes if closely else None),
    )
    return replace(seen, surroundings=replace(around, nodes=nodes), lines=lines)


async def without_jobset(session: Session, keeper: JSONObject, seen: Observation) -> Observation:
    """What is seen of a run without a JobSet, with what a controller says of its stored TrainJob."""
    if session.store.holder_first:
        return seen
    metadata = keeper["metadata"]
    fields = f"involvedObject.kind={names.TRAIN_JOB},involvedObject.name={metadata['name']}"
    found = await events.events_of(session, metadata["namespace"], fields)
    since = (each for each in found if events.is_since(each, metadata["creationTimestamp"]))
    return replace(seen, surroundings=Surroundings(events.in_order(since)))


async def with_reason(session: Session, seen: Observation, run: Run) -> Observation:
    """What is seen of a run that failed: its Jobs, where one may be late, and the log of its pod."""
    if run.failure is None or _has_deadline(seen.jobset):
        with suppress(Answer):
            jobs = await live_objects.objects_of_jobset(session.client, JOB, run.key)
            seen = replace(seen, jobs=jobs)
    if run.failure is None:
        return seen
    name = run.failure.pod
    pod = next(each for each in seen.pods if run_pods.name(each) == name)
    container = view.failed_container(seen.pods)
    lines = await container_logs.last_lines(session.client, pod, container)
    return replace(seen, lines={name: lines or await session.last_seen.last_lines(pod)})


def _has_deadline(jobset: JSONObject | None) -> bool:
    jobs = ((jobset or {}).get("spec") or {}).get("replicatedJobs") or ()
    return any(each["template"]["spec"].get("activeDeadlineSeconds") for each in jobs)


def with_failed(
    pods: Sequence[JSONObject], failed: Mapping[str, FailedPod]
) -> tuple[JSONObject, ...]:
    """The pods, and those that failed and were deleted since."""
    live = {run_pods.name(each) for each in pods}
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
    wanted = (each for each in pods if run_pods.step_of(each) in training)
    return await container_logs.last_lines_by_pod(
        session.client, (each for each in wanted if not node.is_lost(each, nodes))
    )
