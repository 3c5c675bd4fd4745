"""Runs by their records: one, many, and one that has just ended.

What ended is written to its record, from where it is read when its pods are gone.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from typing import Final

from trainer_infra import names
from trainer_infra.cluster import container_logs, drift, live_objects, logs, observe, secret_values
from trainer_infra.cluster.run_store import Record, RunStore
from trainer_infra.cluster.session import FailedPod, Session
from trainer_infra.errors import NotAvailable, Unreadable
from trainer_infra.json_values import JSONObject
from trainer_infra.kube.refusals import Answer, Conflict, NotFound, NotServed
from trainer_infra.kube.resource import JOBSET, POD, SECRET
from trainer_infra.runs import pods as pod_facts
from trainer_infra.runs import report_history as run_history
from trainer_infra.runs.causes import attempt_ends
from trainer_infra.runs.redaction import Redaction
from trainer_infra.runs.run import (
    COMPLETE,
    FAILED,
    FINISHED,
    Listing,
    LogSelection,
    Run,
    RunKey,
    attempts_from_json,
    is_fixed,
)
from trainer_infra.runs.view import Observation

_LOOKED_AT: Final = frozenset((names.JOBSET, names.TRAIN_JOB))
"""Kinds of what was read to look at the run."""


async def at_one(session: Session, key: RunKey) -> Run | None:
    """The run, whatever its owner, looked at closely; from shared lists when many are asked for.

    None when there is none of that name, or it has another UID.

    Raises:
        Unreadable: Its record is damaged.
    """
    if session.is_one_of_many(key):
        return await _one_of_many(session, key)
    client, store = session.client, session.store
    record, jobset, pods = await asyncio.gather(
        store.live_holder(client, key),
        live_objects.named_object(client, JOBSET, key.name, key.namespace),
        live_objects.objects_of_jobset(client, POD, key),
    )
    known = _read(session, record, key.uid)
    if known is None:
        return None
    seen = store.observation(known, jobset, pods)
    return await _looked(session, known, seen, closely=True)


async def session_of(session: Session, others: Sequence[RunStore], key: RunKey) -> Session:
    """The session for the store that has the run, this one's or another; the first one where none has."""
    if others and not await _has_run(session, key):
        for each in map(session.for_store, others):
            with suppress(Answer, NotAvailable):
                if await _has_run(each, key):
                    return each
    return session


async def _has_run(session: Session, key: RunKey) -> bool:
    value = await session.store.live_holder(session.client, key)
    try:
        return _read(session, value, key.uid) is not None
    except Unreadable:
        return True


async def at_every(session: Session, others: Sequence[RunStore], namespace: str) -> Listing:
    """All runs of a namespace, or with an empty one of all, by every store; see `session_of`."""
    listings = [await at_all(session, namespace)]
    for each in map(session.for_store, others):
        with suppress(Answer, NotServed):
            # Who may not read those of another engine has none of its runs.
            listings.append(await at_all(each, namespace))
    runs = sorted(
        (run for each in listings for run in each.runs), key=lambda run: (run.namespace, run.name)
    )
    return Listing(tuple(runs), tuple(sentence for each in listings for sentence in each.unread))


async def at_all(session: Session, namespace: str) -> Listing:
    """All runs of a namespace, or with an empty one of all; nothing of them is read closely.

    A record that cannot be read hides no other.
    """
    try:
        records = await session.objects(session.store.kind, namespace, names.RECORD_LABEL)
    except (NotServed, NotFound):
        # A cluster that does not serve the kind has none of these runs.
        return Listing()
    # After the records: what was submitted before they were read is there.
    jobsets, pods = await asyncio.gather(
        session.objects(JOBSET, namespace, session.store.jobsets), session.pods(namespace)
    )
    every = (each for found in pods.values() for each in found)
    nodes = await observe.nodes_of(session, every)

    async def looked(value: JSONObject) -> Run | str | None:
        try:
            record = session.store.read_record(value)
            if record is None:
                return None
            key = (record.namespace, record.name)
            seen = session.store.observation(record, jobsets.get(key), pods.get(key, ()))
            return await _listed(session, record, seen, nodes)
        except Unreadable as error:
            return str(error)

    # At once: values of a run's secrets are asked for with each.
    results = await live_objects.all_results(map(looked, records.values()))
    runs = [each for each in results if isinstance(each, Run)]
    runs.sort(key=lambda each: (each.namespace, each.name))
    return Listing(tuple(runs), tuple(each for each in results if isinstance(each, str)))


async def log_lines(
    session: Session, key: RunKey, wanted: LogSelection
) -> AsyncIterator[tuple[str, str]]:
    """The lines of a run's pods as (pod, line), without values of its secrets.

    Raises:
        NotAvailable: There is no such run, or it never had such a pod; or values of its secrets
            cannot be read to hide them.
    """
    run, hidden = await _to_read(session, key)
    return await logs.open_lines(session.client, run, wanted, hidden)


async def past_reports(session: Session, key: RunKey) -> tuple[run_history.PastReport, ...]:
    """What the run's training reported, from the logs of its pods, and the last reports where they are gone.

    Raises:
        NotAvailable: There is no such run; or values of its secrets cannot be read to hide them.
        Refused: This account may not read logs.
    """
    known, hidden = await _to_read(session, key)
    now, found = await asyncio.gather(
        at_one(session, key), container_logs.reports_in_logs(session.client, known, hidden)
    )
    return run_history.with_last_reports(now or known, found, pod_facts.SUFFIX)


async def _to_read(session: Session, key: RunKey) -> tuple[Run, Redaction]:
    """The run as it ended or was declared, and what is hidden in what its program printed.

    Its UID is that of what owns its JobSet.

    Raises:
        NotAvailable: There is no such run; or values of its secrets cannot be read to hide them.
    """
    record = await session.store.present_record(session.client, key)
    hidden = await secret_values.secret_redaction(session, record)
    if hidden is None:
        raise NotAvailable(secret_values.lines_left_out(key))
    known = record.final or record.declared(session.host)
    return replace(known, uid=record.holder), hidden


def _read(session: Session, value: JSONObject | None, uid: str) -> Record | None:
    """The record, when there is one and it has that UID, or none is asked for."""
    if value is None or uid not in ("", session.store.uid_of(value)):
        return None
    return session.store.read_record(value)


async def _listed(
    session: Session, record: Record, seen: Observation, nodes: Mapping[str, JSONObject]
) -> Run:
    """The run as a list has it; that of one which has just ended is not written to its record."""
    if record.final:
        return replace(record.final, host=session.host)
    if (jobset := seen.jobset) is not None:
        failed = session.last_seen.failed_pods(record.namespace, jobset)
        seen = replace(seen, pods=observe.with_failed(seen.pods, failed))
        around = await observe.surroundings_of(session, jobset, seen.pods, closely=False)
        seen = replace(seen, surroundings=replace(around, nodes=nodes))
    run = await _current(session, record, seen)
    if run.phase == COMPLETE:
        with suppress(Answer):
            run = await _completed(session, record, seen, closely=False)
    return run


async def _one_of_many(session: Session, key: RunKey) -> Run | None:
    """The run from lists; what is missing there may be newer than they are, and is asked for."""
    store, place = session.store, (key.namespace, key.name)
    records = await session.objects(store.kind, key.namespace, names.RECORD_LABEL)
    value = records.get((key.namespace, store.object_name(key.name)))
    record = _read(session, value or await store.live_holder(session.client, key), key.uid)
    if record is None:
        return None
    if record.final:
        return replace(record.final, host=session.host)
    jobsets = await session.objects(JOBSET, key.namespace, store.jobsets)
    pods = (await session.pods(key.namespace)).get(place, ())
    seen = store.observation(record, jobsets.get(place), pods)
    if seen.jobset is None:
        jobset = await live_objects.named_object(session.client, JOBSET, key.name, key.namespace)
        seen = store.observation(record, jobset, pods)
    return await _looked(session, record, seen, closely=False)


async def _looked(session: Session, record: Record, seen: Observation, *, closely: bool) -> Run:
    """The run as it is now; one that has just ended is read once more and kept."""
    if record.final:
        return replace(record.final, host=session.host)
    jobset = seen.jobset
    if jobset is None:
        seen = await observe.without_jobset(session, record.value, seen)
        return await _current(session, record, seen)
    failed = session.last_seen.failed_pods(record.namespace, jobset)
    seen = replace(seen, pods=observe.with_failed(seen.pods, failed))
    run = await _current(session, record, seen)
    if run.phase in FINISHED:
        return await _ended(session, record, seen, failed)
    drifted, seen = await asyncio.gather(
        _drift(session, record, jobset, closely=closely),
        observe.with_surroundings(session, seen, closely=closely),
    )
    seen = replace(seen, drift=drifted)
    run = await _explained(session, record, seen, await _current(session, record, seen))
    await _keep_attempts(session, record, run)
    return run


async def _ended(
    session: Session, record: Record, seen: Observation, failed: Mapping[str, FailedPod]
) -> Run:
    """The run as it ended, with why and the last lines, written to its record.

    Its pods are read again: they may have changed since they were, and go with the JobSet.
    """
    client = session.client
    pods = await live_objects.objects_of_jobset(client, POD, record.key)
    seen = replace(seen, pods=observe.with_failed(pods, failed))
    run = await _current(session, record, seen)
    if run.phase == COMPLETE:
        try:
            run = await _completed(session, record, seen, closely=True)
        except Answer:
            # Who may not read Jobs leaves it to another to keep how it ended.
            return run
    elif run.phase == FAILED:
        seen = await observe.with_reason(session, seen, run)
        run = await _current(session, record, seen)
    run = await _explained(session, record, seen, run)
    with suppress(Answer):
        # Who may only read sees the same; the next one who may write keeps it.
        patch = session.store.end_patch(record, run)
        await client.apply(patch, manager=names.STATUS_MANAGER, force=True)
    return run


async def _explained(session: Session, record: Record, seen: Observation, run: Run) -> Run:
    """The run with what ended its attempts, by events where nothing else tells; by those of now once it has ended."""
    if not attempt_ends.unexplained(run.attempts, run.phase, datetime.now(UTC)):
        return run
    ask = partial(observe.events_of, session, record.namespace, "")
    age = 0.0 if run.phase in FINISHED else observe.AGE
    found = await session.cache.answer(("events", record.namespace), ask, age)
    events = tuple(observe.events_since(found, record.created))
    return await _current(session, record, replace(seen, events=events))


async def _keep_attempts(session: Session, record: Record, run: Run) -> None:
    """Keep what ended attempts: pods go, and events after an hour. Who may only read tries it once."""
    known, now = (
        tuple((each.number, each.cause) for each in one.last)
        for one in (attempts_from_json(record.status.get("attempts")), run.attempts)
    )
    if now in (known, session.kept.get(record.uid, ())):
        return
    patch = session.store.attempts_patch(record, run)
    try:
        await session.client.apply(patch, manager=names.STATUS_MANAGER, force=True)
    except Conflict:
        # It has changed since it was read: the next look tries again.
        return
    except Answer:
        pass
    session.kept[record.uid] = now


async def _completed(session: Session, record: Record, seen: Observation, *, closely: bool) -> Run:
    """The run that its JobSet says is complete, as its pods ended."""
    seen = await observe.with_ends(session, seen, closely=closely)
    return await _current(session, record, seen)


async def _current(session: Session, record: Record, seen: Observation) -> Run:
    """The run as it is now, without values of its secrets that its program printed."""
    known = await secret_values.secret_redaction(session, record)
    if known is None:
        seen = secret_values.without_quotes(seen)
    run = session.store.current_run(record, seen, session.host, datetime.now(UTC))
    return secret_values.without_lines(run) if known is None else known.run(run)


async def _drift(
    session: Session, record: Record, jobset: JSONObject, *, closely: bool
) -> Mapping[str, str]:
    """What another writer changed, of the JobSet and of what else can change."""
    found: dict[str, str] = {}
    for each in record.objects:
        if each["kind"] in _LOOKED_AT:
            read = jobset if each["kind"] == names.JOBSET else record.value
            found |= drift.drifted_fields(each, read)
        elif closely or not is_fixed(each):
            # A list has whole objects: the code of a thousand runs to see that it is there.
            with suppress(Answer):
                live = await _live(session, record, each, closely=closely)
                found |= drift.drifted_fields(each, live)
    return found


async def _live(
    session: Session, record: Record, value: JSONObject, *, closely: bool
) -> JSONObject | None:
    # Secrets are not listed: that would take the right to read those of everyone.
    if closely or value["kind"] == SECRET.kind:
        return await live_objects.live_object(session.client, value, record.namespace)
    kind = await live_objects.resource_of(session.client, value)
    found = await session.objects(kind, record.namespace, names.RUN_LABEL)
    key = (record.namespace, value["metadata"]["name"])
    return found.get(key) or await live_objects.live_object(session.client, value, record.namespace)
