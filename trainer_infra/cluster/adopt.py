"""Taking over a run that somebody else declared: `adopt=True`.

Called by `submit`. The same content stays the same run and gets new labels on everything; another
content is deleted, so that the caller makes it anew.
"""

from collections.abc import Mapping
from typing import Final

from trainer_infra import names
from trainer_infra.cluster import delete, labels, objects, ownership, together
from trainer_infra.cluster import record as of_record
from trainer_infra.cluster.record import JSON, Record
from trainer_infra.kube.client import KubeClient
from trainer_infra.lifecycle.run import Contents, Submission

TIMEOUT: Final = 60.0
"""Seconds for the end of a run whose place is taken."""


async def adopted(client: KubeClient, record: Record, submission: Submission) -> Record | None:
    """The record with its new owner; None when another run's was deleted."""
    if record.content != submission.content:
        await delete.removed(client, record, TIMEOUT)
        return None
    marks = labels.of_run(submission.owner, record.name)
    # The objects first: until the record itself has its new owner, this is done again.
    known = submission.contents
    await together.all_of(
        _relabelled(client, record, each, marks, known) for each in record.objects
    )
    patch = of_record.adopted(record, submission.owner, marks)
    stored = await client.apply(patch, manager=names.FIELD_MANAGER, force=True)
    return of_record.known(stored)


async def _relabelled(
    client: KubeClient, record: Record, value: JSON, marks: Mapping[str, str], known: Contents
) -> None:
    """Give one object its new labels; what is gone, or somebody else's, is not made again."""
    live = await objects.live(client, value, record.namespace)
    if live is not None and ownership.is_of(live, record.uid):
        await objects.rewritten(client, record, of_record.relabelled(value, marks), known)
