"""Writing again what is the run's: fields that another writer changed, and values of its own Secret.

Exactly the objects that drifted are written, by force, with the contents that the state has and the
record does not: what another writer put there instead never stays.
"""

from collections.abc import Mapping

from trainer_infra import names
from trainer_infra.cluster import drift, live_objects, object_writes
from trainer_infra.cluster.run_store import Record, RunStore
from trainer_infra.errors import NotAvailable, Refused
from trainer_infra.json_values import JSONObject
from trainer_infra.kube.client import KubeClient
from trainer_infra.runs.run import Contents, RunKey


async def repair_run(client: KubeClient, store: RunStore, key: RunKey, known: Contents) -> None:
    """Write every object again that has a field of ours changed, or is gone, with the contents that the state has.

    A JobSet that is gone is a lost run: it is not made again.

    Raises:
        NotAvailable: There is no such run; or an object is gone whose contents are kept nowhere.
        Refused: The run, or an object of that name, is another owner's by now, or the cluster says no.
    """
    record = await store.present_record(client, key)
    for each in record.owned:
        live = await live_objects.live_object(client, each, record.namespace)
        if live is None and each["kind"] == names.JOBSET:
            continue
        if drift.drifted_fields(each, live):
            await rewrite_object(client, record, each, known)
    if patch := store.repair_patch(record):
        with object_writes.explained(patch):
            await client.apply(patch, manager=names.FIELD_MANAGER, force=True)


async def rewrite_object(
    client: KubeClient, record: Record, value: JSONObject, known: Contents
) -> JSONObject:
    """An object of the record written over what is there, or made again when it is gone.

    Raises:
        NotAvailable: It is gone, and its contents are not known.
        Refused: It is another owner's by now, or the cluster says no.
    """
    now = await live_objects.live_object(client, value, record.namespace)
    if now is not None and not record.owns(now):
        raise Refused(
            f"{live_objects.object_shown(now)} belongs to {live_objects.owner_shown(now)} now; delete it, then run "
            "`pulumi up` again to have ours back"
        )
    changed = now is None or any(map(object_writes.is_content, drift.drifted_fields(value, now)))
    if now is None or changed:
        whole = object_writes.to_create(value, record, known)
        if object_writes.is_empty(whole):
            raise NotAvailable(
                f"{live_objects.object_shown(whole)} was deleted or changed, and what was in it is kept "
                "nowhere else; raise attempt to run the job again"
            )
    else:
        whole = object_writes.to_apply(value, record, now, known)
    with object_writes.explained(whole):
        if now is not None and changed and now.get("immutable"):
            kind, metadata = await live_objects.resource_of(client, now), now["metadata"]
            await client.delete(kind, metadata["name"], metadata["namespace"], uid=metadata["uid"])
        return await client.apply(whole, manager=names.FIELD_MANAGER, force=True)


async def replace_secrets(
    client: KubeClient, store: RunStore, key: RunKey, data: Mapping[str, str]
) -> None:
    """Replace the values of the job's own Secret, every key; a job without one has none.

    Raises:
        NotAvailable: There is no such run.
        Refused: It is another owner's by now, or the cluster says no.
    """
    record = await store.present_record(client, key)
    for each in record.objects:
        if not object_writes.is_own_secret(each, record.name):
            continue
        new = object_writes.to_create(each, record, Contents(data))
        with object_writes.explained(new):
            await client.apply(new, manager=names.FIELD_MANAGER, force=True)
