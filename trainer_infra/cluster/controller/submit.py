"""Submitting a run: what its pods mount first, then the TrainJob, which owns all of it right after.

Everything is created, never applied over what is there: of two writers exactly one makes the
TrainJob, and the other finds it. So a submit that was killed at any point, or still runs in another
process, is completed by the next one of the same content (design rule 5).
"""

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from trainer_infra import names
from trainer_infra.cluster import (
    earlier_run,
    live_objects,
    name_collision,
    object_contents,
    ownership,
    refusal_explanation,
)
from trainer_infra.cluster.controller import (
    adopt,
    behaviour,
    contents,
    delete,
    job_record,
    unsupported_fields,
)
from trainer_infra.cluster.run_record import Record
from trainer_infra.errors import InvalidInput, NotAvailable, TrainerInfraError
from trainer_infra.json_values import JSONObject
from trainer_infra.kube.client import KubeClient
from trainer_infra.kube.refusals import Answer, Exists, NotFound, NotServed
from trainer_infra.kube.resource import CLUSTER_TRAINING_RUNTIME, TRAINING_RUNTIME
from trainer_infra.runs import identity
from trainer_infra.runs.identity import Claim
from trainer_infra.runs.run import Submission, is_fixed

REPLACED_WITHIN: Final = 60.0
"""Seconds for the end of a run whose place is taken."""
CLEANUP: Final = 10.0
"""Seconds for removing what a submit made that failed."""
ANSWERED: Final = 0.9
GOING: Final = 0.8
"""Parts of a submit's time: until when requests are answered or say why they are not, and until when it
waits for an earlier run to go. So its end has a reason."""


@dataclass(frozen=True, slots=True)
class _WantedJob:
    """What a submit is to make."""

    client: KubeClient
    submission: Submission
    objects: Sequence[JSONObject]
    """What we store, the TrainJob last."""
    adopt: bool
    """Whether a run of that name is taken over."""
    until: float
    """Until when an earlier run is waited for; of `time.monotonic`."""

    @property
    def job(self) -> JSONObject:
        """The TrainJob as it is created."""
        return job_record.noted_job(self.submission, self.objects)


async def submit_run(
    client: KubeClient, submission: Submission, *, take_over: bool = False, within: float = 20
) -> Record:
    """Make everything of a run that is not there yet; its TrainJob as stored.

    When it fails half way, what this call made is removed.

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
    problems = unsupported_fields.unsupported_fields(
        submission.job, submission.objects, submission.controller
    )
    if problems:
        raise InvalidInput(problems)
    metadata = submission.job["metadata"]
    stored = behaviour.written_objects(submission.objects, metadata["name"])
    try:
        async with asyncio.timeout(within):
            patient = client.within(within * ANSWERED)
            until = time.monotonic() + within * GOING
            return await _made(_WantedJob(patient, submission, stored, take_over, until))
    except TimeoutError:
        raise NotAvailable(
            f"run {metadata['namespace']}/{metadata['name']} was not submitted within {within:g} s: "
            "the cluster is slow, or an earlier run of that name is still being deleted; try again"
        ) from None


async def _made(wanted: _WantedJob) -> Record:
    await _require_trainer(wanted)
    while True:
        if record := await _found(wanted):
            await contents.write_owned(wanted.client, record, wanted.submission.contents)
            return record
        await _require_names(wanted)
        if record := await _created(wanted):
            return await _completed(wanted, record)


async def _completed(wanted: _WantedJob, record: Record) -> Record:
    """The record of a TrainJob that this call made, once it owns what its pods mount."""
    try:
        await contents.write_owned(wanted.client, record, wanted.submission.contents)
    except BaseException:
        with suppress(TrainerInfraError, TimeoutError):
            await delete.remove_objects(wanted.client.within(CLEANUP), record, CLEANUP)
        raise
    return record


async def _require_trainer(wanted: _WantedJob) -> None:
    """Raise where the cluster has no TrainJobs, or not the runtime."""
    client, job = wanted.client, wanted.submission.job
    try:
        await client.resource(names.API_VERSION, names.TRAIN_JOB)
    except NotServed:
        raise NotAvailable(
            f"the cluster at {client.server} serves no TrainJobs, which engine controller needs: "
            "install Kubeflow Trainer (docs/platform.md, TrainerControlPlane), or run "
            "`pulumi config set trainer:engine provider`"
        ) from None
    ref = job["spec"].get("runtimeRef") or {}
    is_own = ref.get("kind") == names.TRAINING_RUNTIME
    kind = TRAINING_RUNTIME if is_own else CLUSTER_TRAINING_RUNTIME
    namespace = job["metadata"]["namespace"] if is_own else ""
    try:
        await client.get(kind, str(ref.get("name")), namespace)
    except NotFound:
        place = f" in namespace {namespace}" if namespace else ""
        raise NotAvailable(
            f"TrainJob {job['metadata']['name']}: the cluster has no {kind.kind} {ref.get('name')}{place}, "
            "which Kubeflow Trainer's controller renders it with; create it, for example with the "
            f"resource {kind.kind} of docs/trainjob.md, or run `pulumi config set trainer:engine provider`"
        ) from None
    except (Answer, NotServed):
        # Who may not read runtimes hears of it from the controller.
        return


async def _found(wanted: _WantedJob) -> Record | None:
    """The TrainJob that is there already, when it is this run's; None when there is none.

    Raises:
        Refused: It is another run's, and is not taken over.
    """
    while True:
        live = await live_objects.live_object(wanted.client, wanted.job)
        if live is None:
            return None
        if not ownership.is_going(live):
            break
        await earlier_run.pause_before_retry(wanted.submission.job, live, wanted.until)
    record = job_record.read_record(live)
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


async def _require_names(wanted: _WantedJob) -> None:
    """Raise where an object is there that the controller would take for its own."""
    name = wanted.submission.job["metadata"]["name"]
    theirs = [
        each
        for each in wanted.submission.objects
        if each["kind"] == names.JOBSET and each["metadata"]["name"] == name
    ]
    name_collision.raise_found(await name_collision.with_any(wanted.client, theirs, ""))


async def _created(wanted: _WantedJob) -> Record | None:
    """The TrainJob once it was created; None where another writer was first."""
    made: list[JSONObject] = []
    try:
        for each in _first(wanted.objects[:-1]):
            whole = object_contents.with_contents(
                each, wanted.objects[-1]["metadata"]["name"], wanted.submission.contents
            )
            if await contents.create_unowned(wanted.client, whole):
                made.append(whole)
        try:
            stored = await wanted.client.create(wanted.job, manager=names.FIELD_MANAGER)
        except Exists:
            return None
        except (Answer, NotServed) as error:
            raise refusal_explanation.explain_refusal(error, wanted.job) from error
    except BaseException:
        await _removed(wanted.client, made)
        raise
    return job_record.known_record(stored)


def _first(objects: Sequence[JSONObject]) -> Sequence[JSONObject]:
    """What is there before the TrainJob.

    A Secret without code beside it comes after: nothing would find what a killed submit left of it.
    """
    return objects if any(map(is_fixed, objects)) else ()


async def _removed(client: KubeClient, made: Sequence[JSONObject]) -> None:
    """Remove what there is of a run that could not be submitted, as far as the cluster answers."""
    with suppress(TrainerInfraError, TimeoutError):
        await contents.remove_unowned(client.within(CLEANUP), made)
