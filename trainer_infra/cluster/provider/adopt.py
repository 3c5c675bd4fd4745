"""Giving a run another owner: `adopt=True`, and an update after the owner's own name changed."""

from collections.abc import Mapping
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
from trainer_infra.cluster.provider import record as run_record
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
    if marks != run_labels.labels_of(record.owner, record.name):
        # The objects first: until the record itself has its new owner, this is done again.
        await concurrent_requests.all_results(
            _relabelled(client, record, each, marks, known) for each in record.objects
        )
    patch = run_record.owner_patch(record, owner, marks)
    try:
        stored = await client.apply(patch, manager=names.FIELD_MANAGER, force=True)
    except Answer as error:
        raise refusal_explanation.explain_refusal(error, patch) from error
    return run_record.known_record(stored)


async def _relabelled(
    client: KubeClient, record: Record, value: JSONObject, marks: Mapping[str, str], known: Contents
) -> None:
    """Give one object its new labels; what is gone, or another owner's, is not made again."""
    live = await live_objects.live_object(client, value, record.namespace)
    if live is not None and ownership.is_of(live, record.uid):
        await object_rewrite.rewrite_object(
            client, record, run_labels.with_labels(value, marks), known
        )
