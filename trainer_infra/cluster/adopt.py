"""Giving a run another owner: `adopt=True`, and an update after the owner's own name changed."""

from trainer_infra import names
from trainer_infra.cluster import live_objects, object_writes, repair, run_labels
from trainer_infra.cluster.run_store import Record, RunStore
from trainer_infra.json_values import JSONObject
from trainer_infra.kube.client import KubeClient
from trainer_infra.runs.run import Contents, Owner, RunKey


async def give_run(client: KubeClient, store: RunStore, key: RunKey, to: Owner) -> None:
    """Make a run another owner's, with everything that it has.

    Raises:
        NotAvailable: There is no such run.
        Refused: It is another owner's by now, or the cluster says no.
    """
    await give_owner(client, store, await store.present_record(client, key), to, Contents())


async def give_owner(
    client: KubeClient, store: RunStore, record: Record, owner: Owner, known: Contents
) -> Record:
    """The record with that owner, once everything of the run has its labels."""
    marks = run_labels.labels_of(owner, record.name)
    if marks != run_labels.labels_of(record.owner, record.name):
        # The objects first: until the record itself has its new owner, this is done again.
        await live_objects.all_results(
            _relabelled(client, record, run_labels.with_labels(each, marks), known)
            for each in record.owned
        )
    patch = store.owner_patch(record, owner)
    with object_writes.explained(patch):
        stored = await client.apply(patch, manager=names.FIELD_MANAGER, force=True)
    return store.known_record(stored)


async def _relabelled(
    client: KubeClient, record: Record, value: JSONObject, known: Contents
) -> None:
    """Give one object its new labels; what is gone, or another owner's, is not made again."""
    live = await live_objects.live_object(client, value, record.namespace)
    if live is not None and record.owns(live):
        await repair.rewrite_object(client, record, value, known)
