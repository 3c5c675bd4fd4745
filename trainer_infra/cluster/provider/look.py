"""Looking at runs: what is asked of the server for one, for many, and for one that has just ended.

Called by `runs`. One run that somebody looks at is read closely: logs for its progress, events and
nodes for what it waits for. Of many that are looked at in a moment, one list of each kind is read.
What ended is written to its record, from where it is read when its pods are gone.
"""

import asyncio
import time
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final, TypeAlias

from trainer_infra import names
from trainer_infra.cluster import drift, events, log_tails, ownership, together
from trainer_infra.cluster.last_seen import Failed, LastSeen
from trainer_infra.cluster.provider import objects, secret_values
from trainer_infra.cluster.provider import record as of_record
from trainer_infra.cluster.provider.record import Record
from trainer_infra.cluster.request_cache import Fresh
from trainer_infra.cluster.rights import Rights
from trainer_infra.errors import Unreadable
from trainer_infra.kube.client import KubeClient, Selection
from trainer_infra.kube.refusals import Answer, NotFound
from trainer_infra.kube.resource import CONFIG_MAP, JOB, JOBSET, POD, SECRET, Resource
from trainer_infra.render import resolve
from trainer_infra.runs import pods as of_pods
from trainer_infra.runs import view
from trainer_infra.runs.causes import node
from trainer_infra.runs.causes.surroundings import Surroundings
from trainer_infra.runs.run import FAILED, FINISHED, Listing, Run, is_fixed
from trainer_infra.runs.view import Seen

JSON = Mapping[str, Any]

MANY: Final = 5
"""Runs asked for within `WITHIN` seconds from which on lists are read."""
WITHIN: Final = 2.0


ByName: TypeAlias = Mapping[tuple[str, str], JSON]


@dataclass(slots=True)
class Place:
    """A cluster that runs are looked at in; lives in one event loop."""

    client: KubeClient
    host: str
    """As a Run has it."""
    fresh: Fresh = field(default_factory=Fresh)
    """Lists and nodes that were just read."""
    asked: deque[tuple[float, tuple[str, str]]] = field(default_factory=deque)
    """When which run was asked for."""
    last_seen: LastSeen = field(init=False)
    """Pods that failed while somebody looked."""
    rights: Rights = field(init=False)
    """What this account may do."""

    def __post_init__(self) -> None:
        self.last_seen = LastSeen(self.client)
        self.rights = Rights(self.client)

    async def close(self) -> None:
        """End every watch and every connection."""
        await self.last_seen.close()
        await self.client.close()

    def is_one_of_many(self, key: tuple[str, str]) -> bool:
        """Whether so many runs of its namespace were asked for lately, this one among them."""
        now = time.monotonic()
        self.asked.append((now, key))
        while now - self.asked[0][0] > WITHIN:
            self.asked.popleft()
        return len({each for _, each in self.asked if each[0] == key[0]}) >= MANY

    async def listed(self, kind: Resource, namespace: str, labels: str) -> "ByName":
        """Objects of a kind by namespace and name, read once for all who ask in this moment."""
        selection = Selection(kind, namespace, labels)

        async def ask() -> ByName:
            return {_key(each): each for each in (await self.client.list(selection)).items}

        return await self.fresh.of(selection, ask)

    async def pods(self, namespace: str) -> Mapping[tuple[str, str], list[JSON]]:
        """Pods by the namespace and name of their JobSet, read once for all likewise."""
        selection = Selection(POD, namespace, names.JOBSET_NAME_LABEL)

        async def ask() -> Mapping[tuple[str, str], list[JSON]]:
            return _by_jobset((await self.client.list(selection)).items)

        return await self.fresh.of(selection, ask)


async def at_one(place: Place, namespace: str, name: str, uid: str = "") -> Run | None:
    """The run of that name, looked at closely; from shared lists when many are asked for.

    Args:
        place: where.
        namespace: of the TrainJob.
        name: of the TrainJob.
        uid: of the run; None is returned for another one. Empty for whichever there is.

    Raises:
        Unreadable: Its record is damaged.
    """
    if place.is_one_of_many((namespace, name)):
        return await _one_of_many(place, namespace, name, uid)
    record, jobset, pods = await asyncio.gather(
        _get(place.client, CONFIG_MAP, namespace, of_record.name_of(name)),
        _get(place.client, JOBSET, namespace, name),
        _pods(place.client, namespace, name),
    )
    known = _read(record, uid)
    if known is None:
        return None
    return await _looked(place, known, Seen(_its(known, jobset), tuple(pods)), closely=True)


async def at_all(place: Place, namespace: str) -> Listing:
    """All runs of a namespace, or with an empty one of all; nothing of them is read closely.

    A record that cannot be read keeps nobody from the others.
    """
    records = await place.listed(CONFIG_MAP, namespace, names.RECORD_LABEL)
    # After the records: what was submitted before they were read is there.
    jobsets, pods = await asyncio.gather(
        place.listed(JOBSET, namespace, names.RUN_LABEL), place.pods(namespace)
    )
    every = (each for found in pods.values() for each in found)
    nodes = await events.nodes_of(place.client, place.fresh, every)

    async def looked(value: JSON) -> Run | str | None:
        try:
            record = of_record.read(value)
            if record is None:
                return None
            key = (record.namespace, record.name)
            seen = Seen(_its(record, jobsets.get(key)), tuple(pods.get(key, ())))
            return await _listed(place, record, seen, nodes)
        except Unreadable as error:
            return str(error)

    # At once: values of a run's secrets are asked for with each.
    results = await together.all_of(map(looked, records.values()))
    runs = [each for each in results if isinstance(each, Run)]
    runs.sort(key=lambda each: (each.namespace, each.name))
    return Listing(tuple(runs), tuple(each for each in results if isinstance(each, str)))


def _read(value: JSON | None, uid: str) -> Record | None:
    """The record, when there is one and it has that UID, or none is asked for."""
    if value is None or uid not in ("", value["metadata"]["uid"]):
        return None
    return of_record.read(value)


async def _listed(place: Place, record: Record, seen: Seen, nodes: Mapping[str, JSON]) -> Run:
    """The run as a list has it; that of one which has just ended is not written to its record."""
    if record.final:
        return replace(record.final, host=place.host)
    if (jobset := seen.jobset) is not None:
        failed = place.last_seen.of(record.namespace, jobset)
        seen = replace(seen, pods=_with_failed(seen.pods, failed))
        around = await _around(place, jobset, seen.pods, closely=False)
        seen = replace(seen, around=replace(around, nodes=nodes))
    return await _current(place, record, seen)


async def _one_of_many(place: Place, namespace: str, name: str, uid: str) -> Run | None:
    """The run from lists; what is missing there may be newer than they are, and is asked for."""
    key = (namespace, of_record.name_of(name))
    records = await place.listed(CONFIG_MAP, namespace, names.RECORD_LABEL)
    record = _read(records.get(key) or await _get(place.client, CONFIG_MAP, *key), uid)
    if record is None:
        return None
    if record.final:
        return replace(record.final, host=place.host)
    jobsets = await place.listed(JOBSET, namespace, names.RUN_LABEL)
    jobset = _its(record, jobsets.get((namespace, name)))
    if jobset is None:
        jobset = _its(record, await _get(place.client, JOBSET, namespace, name))
    pods = await place.pods(namespace)
    seen = Seen(jobset, tuple(pods.get((namespace, name), ())))
    return await _looked(place, record, seen, closely=False)


async def _looked(place: Place, record: Record, seen: Seen, *, closely: bool) -> Run:
    """The run as it is now; one that has just ended is read once more and kept."""
    if record.final:
        return replace(record.final, host=place.host)
    jobset = seen.jobset
    if jobset is None:
        return await _current(place, record, seen)
    failed = place.last_seen.of(record.namespace, jobset)
    seen = replace(seen, pods=_with_failed(seen.pods, failed))
    run = await _current(place, record, seen)
    if run.phase in FINISHED:
        return await _ended(place, record, seen, failed)
    nodes = await events.nodes_of(place.client, place.fresh, seen.pods)
    drifted, around, lines = await asyncio.gather(
        _drift(place, record, jobset, closely=closely),
        _around(place, jobset, seen.pods, closely=closely),
        _lines(place, jobset, seen.pods, nodes if closely else None),
    )
    seen = replace(seen, drift=drifted, around=replace(around, nodes=nodes), lines=lines)
    return await _current(place, record, seen)


async def _around(
    place: Place, jobset: JSON, pods: Sequence[JSON], *, closely: bool
) -> Surroundings:
    """What else the cluster says of a run, from lists that others share unless closely."""
    if closely:
        return await events.of_run(place.client, place.fresh, jobset, pods)
    return await events.of_one_of_many(place.client, place.fresh, jobset, pods)


async def _lines(
    place: Place, jobset: JSON, pods: Sequence[JSON], nodes: Mapping[str, JSON] | None
) -> Mapping[str, tuple[str, ...]]:
    """The last lines of the pods that train on nodes that answer; none without nodes."""
    if nodes is None:
        return {}
    training = resolve.trainer_jobs(jobset["spec"])
    wanted = (each for each in pods if of_pods.step(each) in training)
    return await log_tails.of_pods_that_ran(
        place.client, (each for each in wanted if not node.is_lost(each, nodes))
    )


async def _ended(place: Place, record: Record, seen: Seen, failed: Mapping[str, Failed]) -> Run:
    """The run as it ended, with why and the last lines, written to its record.

    Its pods are read again: they may have changed since they were, and go with the JobSet.
    """
    client = place.client
    pods = await _pods(client, record.namespace, record.name)
    seen = replace(seen, pods=_with_failed(pods, failed))
    run = await _current(place, record, seen)
    if run.phase == FAILED:
        seen = await _with_reason(client, record, seen, run)
        if run.failure and run.failure.pod in failed and not seen.lines[run.failure.pod]:
            seen = replace(seen, lines={run.failure.pod: failed[run.failure.pod].lines})
        run = await _current(place, record, seen)
    with suppress(Answer):
        # Who may only read sees the same; the next one who may write keeps it.
        patch = of_record.ended(record, run)
        await client.apply(patch, manager=names.STATUS_MANAGER, force=True)
    return run


async def _current(place: Place, record: Record, seen: Seen) -> Run:
    """The run as it is now, without values of its secrets that its program printed."""
    known = await secret_values.known(place.client, place.fresh, record)
    if known is None:
        seen = secret_values.hidden(seen)
    run = view.current(record, seen, place.host, _now())
    return secret_values.without_lines(run) if known is None else known.run(run)


def _with_failed(pods: Sequence[JSON], failed: Mapping[str, Failed]) -> tuple[JSON, ...]:
    """The pods, and those that failed and were deleted since."""
    live = {each["metadata"]["name"] for each in pods}
    return (*pods, *(each.pod for name, each in failed.items() if name not in live))


async def _with_reason(client: KubeClient, record: Record, seen: Seen, run: Run) -> Seen:
    """What is seen, with the log of the pod that failed, or with the Jobs where no pod did."""
    if run.failure is None:
        selection = Selection(JOB, record.namespace, f"{names.JOBSET_NAME_LABEL}={record.name}")
        with suppress(Answer):
            return replace(seen, jobs=(await client.list(selection)).items)
        return seen
    failed = run.failure.pod
    pod = next(each for each in seen.pods if each["metadata"]["name"] == failed)
    container = view.failed_container(seen.pods)
    return replace(seen, lines={failed: await log_tails.of_container(client, pod, container)})


async def _drift(place: Place, record: Record, jobset: JSON, *, closely: bool) -> Mapping[str, str]:
    """What somebody changed, of the JobSet and of what else can change."""
    found: dict[str, str] = {}
    for each in record.objects:
        if each["kind"] == names.JOBSET:
            found |= drift.drift(each, jobset)
        elif closely or not is_fixed(each):
            # A list has whole objects: the code of a thousand runs to see that it is there.
            with suppress(Answer):
                live = await _live(place, record, each, closely=closely)
                found |= drift.drift(each, live)
    return found


async def _live(place: Place, record: Record, value: JSON, *, closely: bool) -> JSON | None:
    # Secrets are not listed: that would take the right to read those of everyone.
    if closely or value["kind"] == SECRET.kind:
        return await objects.live(place.client, value, record.namespace)
    kind = await objects.address(place.client, value)
    found = await place.listed(kind, record.namespace, names.RUN_LABEL)
    key = (record.namespace, value["metadata"]["name"])
    return found.get(key) or await objects.live(place.client, value, record.namespace)


async def _get(client: KubeClient, kind: Resource, namespace: str, name: str) -> JSON | None:
    with suppress(NotFound):
        return await client.get(kind, name, namespace)
    return None


async def _pods(client: KubeClient, namespace: str, name: str) -> Sequence[JSON]:
    selection = Selection(POD, namespace, f"{names.JOBSET_NAME_LABEL}={name}")
    return (await client.list(selection)).items


def _its(record: Record, jobset: JSON | None) -> JSON | None:
    """The JobSet, when it is this run's."""
    return jobset if jobset is not None and ownership.is_of(jobset, record.uid) else None


def _by_jobset(pods: Sequence[JSON]) -> dict[tuple[str, str], list[JSON]]:
    found: dict[tuple[str, str], list[JSON]] = {}
    for each in pods:
        name = each["metadata"]["labels"][names.JOBSET_NAME_LABEL]
        found.setdefault((each["metadata"]["namespace"], name), []).append(each)
    return found


def _key(value: JSON) -> tuple[str, str]:
    return value["metadata"]["namespace"], value["metadata"]["name"]


def _now() -> datetime:
    return datetime.now(UTC)
