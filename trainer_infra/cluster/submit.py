"""Submitting a run: what is made first, what a kill leaves, and who finds it.

One object keeps a run and owns all else that we write of it: its holder. Everything is created, never
applied over what is there: of two writers exactly one makes each object, and the other finds it. So a
submit that was killed at any point, or still runs in another process, is completed by the next one of
the same content, to exactly one JobSet (design rule 5). What comes first depends on what the holder is
(`RunStore.holder_first`):

- A holder that only records is made first, and all that a kill leaves is found by it. Then come what the
  pods mount, the JobSet, which starts them, and last a mark in the holder that all of it is there. Without
  the mark the next submit makes what is missing; with it a missing JobSet is a loss. A torch job takes
  these four round trips. Deleting goes the other way round: the JobSet first, the holder last.
- A holder that a controller drives starts the pods itself: what they mount is made before it, without an
  owner, and is given to it right after. What a kill before the holder leaves is found by its labels: the
  next submit of the run takes it, or it is collected an hour later (`unowned_objects`). After the holder,
  the next submit gives it what it does not own yet. Deleting begins with the holder, so that the
  controller makes nothing again.
"""

import asyncio
import time
from collections.abc import Awaitable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from trainer_infra import names
from trainer_infra.cluster import adopt, delete, live_objects, object_writes, unowned_objects
from trainer_infra.cluster.run_store import Record, RunParts, RunStore
from trainer_infra.errors import InvalidInput, NotAvailable, Refused, TrainerInfraError
from trainer_infra.json_values import JSONObject
from trainer_infra.kube.client import KubeClient
from trainer_infra.kube.refusals import Conflict, Exists, NotFound
from trainer_infra.runs import identity
from trainer_infra.runs.run import Submission, is_fixed

REPLACED_WITHIN: Final = 60.0
"""Seconds for the end of a run whose place is taken."""
CLEANUP: Final = 10.0
"""Seconds for removing what a submit made that failed."""
GOING: Final = 0.8
ANSWERED: Final = 0.9
"""Parts of a submit's time: until when it waits for an earlier run to go, and until when requests
are answered or say why they are not. So its end has a reason."""
PAUSE: Final = 0.1
"""Seconds between two looks at an object that is being deleted."""


@dataclass(frozen=True, slots=True)
class SubmittedRun:
    """What there is of a run after its submit."""

    record: Record
    """As stored."""
    jobset: JSONObject | None
    """As stored; None when this call did not make it, and the run is to be looked up."""


@dataclass(frozen=True, slots=True)
class _WantedRun:
    """What a submit is to make."""

    client: KubeClient
    store: RunStore
    submission: Submission
    parts: RunParts
    adopt: bool
    """Whether a run of that name is taken over."""
    until: float
    """Until when an earlier run is waited for; of `time.monotonic`."""


async def submit_run(
    client: KubeClient,
    store: RunStore,
    submission: Submission,
    *,
    take_over: bool = False,
    within: float = 20,
) -> SubmittedRun:
    """Make everything of a run that is not there yet.

    When it fails half way, or has not ended after so many seconds, what this call made is removed.

    Args:
        client: the cluster.
        store: where the engine keeps its runs.
        submission: what to run.
        take_over: take over a run of that name that another owner declared, or other content.
        within: seconds until it is given up.

    Raises:
        InvalidInput: This engine or the cluster refuses what is submitted; has every problem.
        Refused: A run or an object of that name is another owner's, or the cluster says no.
        NotAvailable: The cluster cannot be reached, lacks something, or took too long; with the
            reason of the last try.
    """
    problems = store.problems(submission.job, submission.objects, submission.controller)
    if problems:
        raise InvalidInput(problems)
    parts = store.parts(submission)
    try:
        async with asyncio.timeout(within):
            patient = client.within(within * ANSWERED)
            until = time.monotonic() + within * GOING
            return await _made(_WantedRun(patient, store, submission, parts, take_over, until))
    except TimeoutError:
        raise NotAvailable(
            f"{submission.key.shown()} was not submitted within {within:g} s: "
            "the cluster is slow, or an earlier run of that name is still being deleted; try again"
        ) from None


async def _made(wanted: _WantedRun) -> SubmittedRun:
    await wanted.store.require(wanted.client, wanted.submission)
    if wanted.adopt and wanted.store.holder_first:
        await _judge_names(wanted)
    service = asyncio.ensure_future(_service(wanted))
    try:
        record, is_new = await _record(wanted)
        try:
            return await _completed(wanted, record, service)
        except BaseException:
            if is_new:
                await _removed(wanted, record)
            raise
    finally:
        service.cancel()


async def _judge_names(wanted: _WantedRun) -> None:
    """Look at every name before a run that has one of them is relabelled or deleted.

    Raises:
        Refused: An object is neither the run's that is taken over, nor free.
    """
    live = await live_objects.live_object(wanted.client, wanted.parts.holder)
    uid = live["metadata"]["uid"] if live and wanted.store.read_record(live) else ""
    await live_objects.require_free_names(wanted.client, wanted.parts.owned, uid)


async def _service(wanted: _WantedRun) -> Refused | None:
    """Why JobSet cannot make its Service, asked while the holder is made; `_begun` asks before a driven one."""
    if not wanted.store.holder_first:
        return None
    return await live_objects.service_taken(wanted.client, wanted.parts.jobset)


async def _record(wanted: _WantedRun) -> tuple[Record, bool]:
    """The run's record, and whether this call made its holder."""
    found = None if wanted.store.holder_first else await _found(wanted)
    while found is None:
        if made := await _begun(wanted):
            return made, True
        found = await _found(wanted)
    return found, False


async def _found(wanted: _WantedRun) -> Record | None:
    """The record that is there already, when it is this run's; None when there is none.

    Raises:
        Refused: It is another run's, and is not taken over.
    """
    client, store, submission = wanted.client, wanted.store, wanted.submission
    while True:
        live = await live_objects.live_object(client, wanted.parts.holder)
        if live is None:
            return None
        if not live_objects.is_going(live):
            break
        await _pause(wanted, live)
    record = store.read_record(live)
    if record is None:
        raise Refused(
            f"{live_objects.object_shown(live)} belongs to {live_objects.owner_shown(live)}, which is not a "
            "run of this engine; choose another name, or delete that first"
        )
    match identity.claim(record, submission, adopt=wanted.adopt):
        case identity.Claim.SAME:
            return record
        case identity.Claim.ADOPT:
            owner, known = submission.owner, submission.contents
            return await adopt.give_owner(client, store, record, owner, known)
        case identity.Claim.REPLACE:
            await delete.remove_objects(client, store, record, REPLACED_WITHIN)
            return None


async def _begun(wanted: _WantedRun) -> Record | None:
    """The record of a run whose holder this call made; None where another writer was first."""
    client, parts = wanted.client, wanted.parts
    made: list[JSONObject] = []
    before: Sequence[JSONObject] = ()
    if not wanted.store.holder_first:
        # A JobSet of that name the controller would take for its own.
        await live_objects.require_free_names(client, [parts.jobset], "")
        # A Secret without code beside it comes later: nothing finds what a killed submit leaves of it.
        before = parts.owned if any(map(is_fixed, parts.owned)) else ()
    try:
        for each in before:
            whole = object_writes.with_contents(
                each, wanted.submission.key.name, wanted.submission.contents
            )
            if await unowned_objects.create_unowned(client, whole):
                made.append(whole)
        with object_writes.explained(parts.holder), suppress(Exists):
            stored = await client.create(parts.holder, manager=names.FIELD_MANAGER)
            return wanted.store.known_record(stored)
    except BaseException:
        with suppress(TrainerInfraError, TimeoutError):
            await unowned_objects.remove_unowned(client.within(CLEANUP), made)
        raise
    return None


async def _completed(
    wanted: _WantedRun, record: Record, service: Awaitable[Refused | None]
) -> SubmittedRun:
    """The run once its holder owns everything, and says so where it only records."""
    client, store, owned = wanted.client, wanted.store, wanted.parts.owned
    if not store.holder_first:
        await unowned_objects.write_owned(client, record, wanted.submission.contents)
        return SubmittedRun(record, None)
    if record.jobset_uid:
        own = (each for each in owned if object_writes.is_own_secret(each, record.name))
        await live_objects.all_results(_written(wanted, record, each) for each in own)
        return SubmittedRun(record, None)
    if refused := await service:
        raise refused
    if patch := store.agreeing_patch(record, wanted.parts.holder):
        applied = await client.apply(patch, manager=names.FIELD_MANAGER, force=True)
        record = store.known_record(applied)
    await live_objects.all_results(_written(wanted, record, each) for each in owned[:-1])
    jobset = await _written(wanted, record, owned[-1])
    return SubmittedRun(await _marked(wanted, record, jobset), jobset)


async def _written(wanted: _WantedRun, record: Record, value: JSONObject) -> JSONObject:
    """The object as stored: created, or found and this run's.

    Raises:
        Refused: It is not this run's, or the cluster says no.
    """
    new = object_writes.to_create(value, record, wanted.submission.contents)
    with object_writes.explained(new):
        while True:
            try:
                return await wanted.client.create(new, manager=names.FIELD_MANAGER)
            except Exists:
                live = await live_objects.live_object(wanted.client, new)
            if live is not None and not live_objects.is_going(live):
                return await _kept(wanted, record, new, live)
            await _pause(wanted, live)


async def _kept(
    wanted: _WantedRun, record: Record, new: JSONObject, live: JSONObject
) -> JSONObject:
    """The object that is there already.

    This run's own stays as an earlier submit made it, keys that are made only once among it; but
    values of the job's own Secret may have changed since.
    """
    if not record.owns(live):
        raise live_objects.name_taken(live)
    if not object_writes.is_own_secret(live, record.name):
        return live
    return await wanted.client.apply(new, manager=names.FIELD_MANAGER, force=True)


async def _pause(wanted: _WantedRun, live: JSONObject | None) -> None:
    """Pause before the next look at an object that is being deleted, or is gone by now.

    Raises:
        NotAvailable: It was waited for long enough.
    """
    if live is not None and time.monotonic() > wanted.until:
        raise NotAvailable(
            f"{wanted.submission.key.shown()} is not submitted: an earlier run of that name "
            f"is still being deleted, {live_objects.object_shown(live)} waits for its finalizers "
            f"({delete.finalizers(live)}); try again"
        )
    await asyncio.sleep(PAUSE)


async def _marked(wanted: _WantedRun, record: Record, jobset: JSONObject) -> Record:
    """The record with the mark that everything is there: a missing JobSet is a loss from then on.

    Raises:
        NotAvailable: The run was deleted meanwhile; what was written since is removed.
    """
    marks = {"phase": record.status.get("phase", ""), "jobset": jobset["metadata"]["uid"]}
    patch = wanted.store.status_patch(record, {**record.status, **marks})
    try:
        stored = await wanted.client.apply(patch, manager=names.STATUS_MANAGER, force=True)
    except (Conflict, NotFound) as error:
        await _removed(wanted, record)
        raise NotAvailable(
            f"{record.key.shown()} was deleted while it was submitted; submit it again"
        ) from error
    return wanted.store.known_record(stored)


async def _removed(wanted: _WantedRun, record: Record) -> None:
    """Remove what there is of a run that could not be submitted, as far as the cluster answers."""
    with suppress(TrainerInfraError, TimeoutError):
        client = wanted.client.within(CLEANUP)
        await delete.remove_objects(client, wanted.store, record, CLEANUP)
