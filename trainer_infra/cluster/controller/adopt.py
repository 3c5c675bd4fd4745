"""Giving a run another owner: `adopt=True`, and an update after the owner's own name changed."""

from typing import Final

from trainer_infra import names
from trainer_infra.cluster import (
    concurrent_requests,
    live_objects,
    object_rewrite,
    ownership,
    refusal_explanation,
    run_labels,
)
from trainer_infra.cluster.controller import job_record
from trainer_infra.cluster.run_record import Record
from trainer_infra.json_values import JSONObject
from trainer_infra.kube.client import KubeClient
from trainer_infra.kube.refusals import Answer
from trainer_infra.runs.run import Contents, Owner

NOTHING: Final = Contents()
"""Where no content of an object has to be known."""


async def give_owner(
    client: KubeClient, record: Record, owner: Owner, known: Contents = NOTHING
) -> Record:
    """The record with that owner, once everything of the run has its labels."""
    marks = run_labels.labels_of(owner, record.name)
    await concurrent_requests.all_results(
        _relabelled(client, record, run_labels.with_labels(each, marks), known)
        for each in record.objects[:-1]
    )
    patch = job_record.whole_patch(record, owner)
    try:
        stored = await client.apply(patch, manager=names.FIELD_MANAGER, force=True)
    except Answer as error:
        raise refusal_explanation.explain_refusal(error, patch) from error
    return job_record.known_record(stored)


async def _relabelled(
    client: KubeClient, record: Record, value: JSONObject, known: Contents
) -> None:
    """Give one object its new labels; what is gone, or another owner's, is not made again."""
    live = await live_objects.live_object(client, value, record.namespace)
    if live is not None and ownership.is_of(live, record.holder):
        await object_rewrite.rewrite_object(client, record, value, known)
