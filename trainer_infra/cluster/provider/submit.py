"""Submitting a run: the record first, then what it owns, the JobSet last.

Everything is created, never applied over what is there: of two writers exactly one makes each
object, and the other finds it. So a submit that was killed at any point, or still runs in another
process, is completed by the next one of the same content, to exactly one JobSet (design rule 5). A
torch job takes four round trips: record, what its pods mount, JobSet, and the mark in the record
that all of it is there.
"""

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from trainer_infra import names
from trainer_infra.cluster import (
    concurrent_requests,
    earlier_run,
    live_objects,
    name_collision,
    object_contents,
    ownership,
    refusal_explanation,
    run_labels,
)
from trainer_infra.cluster.provider import adopt, delete, unsupported_fields
from trainer_infra.cluster.provider import record as run_record
from trainer_infra.cluster.run_record import Record
from trainer_infra.errors import InvalidInput, NotAvailable, TrainerInfraError
from trainer_infra.json_values import JSONObject
from trainer_infra.kube.client import KubeClient
from trainer_infra.kube.refusals import Answer, Conflict, Exists, NotFound, NotServed
from trainer_infra.runs import identity
from trainer_infra.runs.identity import Claim
from trainer_infra.runs.run import Submission

REPLACED_WITHIN: Final = 60.0
"""Seconds for the end of a run whose place is taken."""
CLEANUP: Final = 10.0
"""Seconds for removing what a submit made that failed."""
GOING: Final = 0.8
ANSWERED: Final = 0.9
"""Parts of a submit's time: until when it waits for an earlier run to go, and until when requests
are answered or say why they are not. So its end has a reason."""


@dataclass(frozen=True, slots=True)
class SubmittedRun:
    """What there is of a run after its submit."""

    record: Record
    """As stored."""
    jobset: JSONObject | None
    """As stored; None when the run was submitted before, and is to be looked up."""


@dataclass(frozen=True, slots=True)
class _WantedRun:
    """What a submit is to make."""

    client: KubeClient
    submission: Submission
    objects: Sequence[JSONObject]
    """Everything but the record, the JobSet last."""
    record: JSONObject
    """The record's ConfigMap."""
    adopt: bool
    """Whether a run of that name is taken over."""
    until: float
    """Until when an earlier run is waited for; of `time.monotonic`."""


async def submit_run(
    client: KubeClient, submission: Submission, *, take_over: bool = False, within: float = 20
) -> SubmittedRun:
    """Make everything of a run that is not there yet.

    When it fails after this call made the record, what was made is removed.

    Args:
        client: the cluster.
        submission: what to run.
        take_over: take over a run of that name that another owner declared, or other content.
        within: seconds until it is given up.

    Raises:
        InvalidInput: This engine or the cluster refuses what is submitted; has every problem.
        Refused: A run or an object of that name is another owner's, or the cluster says no.
        NotAvailable: The cluster cannot be reached, lacks something, or took too long; with the
            reason of the last try.
    """
    job = submission.job
    whole = submission.objects
    problems = unsupported_fields.unsupported_fields(job, whole)
    if problems:
        raise InvalidInput(problems)
    others = [each for each in whole if not run_labels.is_record(each, job["metadata"]["name"])]
    others.sort(key=lambda each: each["kind"] == names.JOBSET)
    record = run_record.config_map(submission, whole)
    try:
        async with asyncio.timeout(within):
            patient = client.within(within * ANSWERED)
            until = time.monotonic() + within * GOING
            return await _made(_WantedRun(patient, submission, others, record, take_over, until))
    except TimeoutError:
        raise NotAvailable(
            f"run {job['metadata']['namespace']}/{job['metadata']['name']} was not submitted "
            f"within {within:g} s: the cluster is slow, or an earlier run of that name is still "
            "being deleted; try again"
        ) from None


async def _made(wanted: _WantedRun) -> SubmittedRun:
    if wanted.adopt:
        await _judge_names(wanted)
    service = asyncio.ensure_future(name_collision.with_service(wanted.client, wanted.objects[-1]))
    try:
        record, is_new = await _record(wanted)
    except BaseException:
        service.cancel()
        raise
    if record.jobset_uid:
        service.cancel()
        own = (each for each in wanted.objects if object_contents.is_own_secret(each, record))
        await concurrent_requests.all_results(_written(wanted, record, each) for each in own)
        return SubmittedRun(record, None)
    try:
        name_collision.raise_found(await service)
        record = await _agreeing(wanted, record)
        first, jobsets = wanted.objects[:-1], wanted.objects[-1:]
        await concurrent_requests.all_results(_written(wanted, record, each) for each in first)
        (jobset,) = await concurrent_requests.all_results(
            _written(wanted, record, each) for each in jobsets
        )
        return SubmittedRun(await _marked(wanted, record, jobset), jobset)
    except BaseException:
        if is_new:
            await _removed(wanted.client, record)
        raise


async def _judge_names(wanted: _WantedRun) -> None:
    """Look at every name before a run that has one of them is relabelled or deleted.

    Raises:
        Refused: An object is neither the run's that is taken over, nor free.
    """
    live = await live_objects.live_object(wanted.client, wanted.record)
    uid = live["metadata"]["uid"] if live and run_record.read_record(live) else ""
    name_collision.raise_found(await name_collision.with_any(wanted.client, wanted.objects, uid))


async def _record(wanted: _WantedRun) -> tuple[Record, bool]:
    """The run's record, and whether this call made it."""
    while True:
        try:
            made = await wanted.client.create(wanted.record, manager=names.FIELD_MANAGER)
        except Exists:
            found = await _found(wanted)
            if found is not None:
                return found, False
        except Answer as error:
            raise refusal_explanation.explain_refusal(error, wanted.record) from error
        else:
            return run_record.known_record(made), True


async def _found(wanted: _WantedRun) -> Record | None:
    """The record that is there already, when it is this run's; None when it goes.

    Raises:
        Refused: It is another run's, and is not taken over.
    """
    metadata = wanted.record["metadata"]
    live = await live_objects.live_object(wanted.client, wanted.record, metadata["namespace"])
    if live is None:
        return None
    if ownership.is_going(live):
        await earlier_run.pause_before_retry(wanted.submission.job, live, wanted.until)
        return None
    record = run_record.read_record(live)
    if record is None:
        raise earlier_run.refusal_of_other(live)
    submission = wanted.submission
    match identity.claim(record, submission, adopt=wanted.adopt):
        case Claim.SAME:
            return record
        case Claim.ADOPT:
            return await adopt.give_owner(
                wanted.client, record, submission.owner, submission.contents
            )
        case Claim.REPLACE:
            await delete.remove_objects(wanted.client, record, REPLACED_WITHIN)
            return None


async def _agreeing(wanted: _WantedRun, record: Record) -> Record:
    """The record with the objects as they are rendered now: an older release may have begun it."""
    if record.value["data"].items() >= wanted.record["data"].items():
        return record
    patch = run_record.rewrite_patch(record, wanted.record)
    applied = await wanted.client.apply(patch, manager=names.FIELD_MANAGER, force=True)
    return run_record.known_record(applied)


async def _written(wanted: _WantedRun, record: Record, value: JSONObject) -> JSONObject:
    """The object as stored: created, or found and this run's.

    Raises:
        Refused: It is not this run's, or the cluster says no.
    """
    new = object_contents.to_create(value, record, wanted.submission.contents)
    try:
        while True:
            try:
                return await wanted.client.create(new, manager=names.FIELD_MANAGER)
            except Exists:
                live = await live_objects.live_object(wanted.client, new)
            if live is not None and not ownership.is_going(live):
                return await _kept(wanted, record, new, live)
            await earlier_run.pause_before_retry(wanted.submission.job, live, wanted.until)
    except (Answer, NotServed) as error:
        raise refusal_explanation.explain_refusal(error, new) from error


async def _kept(
    wanted: _WantedRun, record: Record, new: JSONObject, live: JSONObject
) -> JSONObject:
    """The object that is there already.

    This run's own stays as an earlier submit made it, keys that are made only once among it; but
    values of the job's own Secret may have changed since.
    """
    if not ownership.is_of(live, record.uid):
        raise name_collision.refusal_of(live)
    if not object_contents.is_own_secret(live, record):
        return live
    return await wanted.client.apply(new, manager=names.FIELD_MANAGER, force=True)


async def _marked(wanted: _WantedRun, record: Record, jobset: JSONObject) -> Record:
    """The record with the mark that everything is there.

    Raises:
        NotAvailable: The run was deleted meanwhile; what was written since is removed.
    """
    patch = run_record.submitted_patch(record, jobset["metadata"]["uid"])
    try:
        stored = await wanted.client.apply(patch, manager=names.STATUS_MANAGER, force=True)
    except (Conflict, NotFound) as error:
        await _removed(wanted.client, record)
        raise NotAvailable(
            f"{ownership.run_shown(record)} was deleted while it was submitted; submit it again"
        ) from error
    return run_record.known_record(stored)


async def _removed(client: KubeClient, record: Record) -> None:
    """Remove what there is of a run that could not be submitted, as far as the cluster answers."""
    with suppress(TrainerInfraError, TimeoutError):
        await delete.remove_objects(client.within(CLEANUP), record, CLEANUP)
