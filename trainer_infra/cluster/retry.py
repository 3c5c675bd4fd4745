"""Running a run again that failed or was lost: the same record and UID, with new pods.

What started the pods goes first, with them, and is made again. A holder that only records stays, and all
else that it owns: its JobSet is made again, and the record says last that the run goes on. Interrupted
before that, it is still one that failed, and the next call begins anew. A holder that a controller drives
is made again itself, and says which run it is; what the pods mount is set free of it first and kept, so
that a retry that is killed loses nothing that the next submit of the run cannot make again.
"""

from trainer_infra import names
from trainer_infra.cluster import delete, live_objects, object_writes, repair, unowned_objects
from trainer_infra.cluster.run_store import Record
from trainer_infra.cluster.session import Session
from trainer_infra.errors import NotAvailable
from trainer_infra.json_values import JSONObject
from trainer_infra.kube.client import KubeClient
from trainer_infra.runs.run import Contents, RunKey


async def retry_run(session: Session, key: RunKey, within: float) -> None:
    """Run again what failed, or was lost, once the pods of its last try are gone.

    Its account's rights are asked for before anything changes.

    Raises:
        NotAvailable: There is no such run, its pods do not go, or contents of an object are lost.
        Refused: It is another owner's by now, a right is missing, or the cluster says no.
    """
    client, store = session.client, session.store
    record = await store.present_record(client, key)
    await session.rights.require_submit(record.key, (record.value, *record.owned), "retry")
    again = store.repeated_holder(record)
    if again is not None:
        for each in [await _kept(client, record, each) for each in record.owned]:
            # Without an owner it stays when the holder goes.
            free = {**each, "metadata": {**each["metadata"], "ownerReferences": []}}
            with object_writes.explained(free):
                await client.apply(free, manager=names.FIELD_MANAGER, force=True)
    if left := await delete.pods_removed(client, store, key, record.value, within):
        raise NotAvailable(f"{left}; run it again when that is gone")
    if again is None:
        await _with_new_jobset(session, record)
        return
    with object_writes.explained(again):
        stored = await client.create(again, manager=names.FIELD_MANAGER)
    await unowned_objects.write_owned(client, store.known_record(stored), Contents())


async def _kept(client: KubeClient, record: Record, value: JSONObject) -> JSONObject:
    """What a pod mounts, whole, as it is there now."""
    live = await live_objects.live_object(client, value, record.namespace)
    if live is None:
        metadata = {**value["metadata"], "namespace": record.namespace}
        raise NotAvailable(
            f"{live_objects.object_shown({**value, 'metadata': metadata})} was deleted, and what was in "
            "it is kept nowhere else; raise attempt to run the job again"
        )
    metadata = {
        "name": live["metadata"]["name"],
        "namespace": record.namespace,
        "labels": value["metadata"].get("labels") or {},
    }
    fields = ("apiVersion", "kind", "type", "immutable", "data", "binaryData")
    return {**{key: live[key] for key in fields if key in live}, "metadata": metadata}


async def _with_new_jobset(session: Session, record: Record) -> None:
    """Make the JobSet again, suspended as the user has the run now, and what else is missing."""
    client = session.client
    *others, jobset = record.owned
    for each in others:
        if await live_objects.live_object(client, each, record.namespace) is None:
            await repair.rewrite_object(client, record, each, Contents())
    suspend = bool(record.job["spec"].get("suspend"))
    wanted = {**jobset, "spec": {**jobset["spec"], "suspend": suspend}}
    made = await repair.rewrite_object(client, record, wanted, Contents())
    patch = session.store.status_patch(record, {"phase": "", "jobset": made["metadata"]["uid"]})
    await client.apply(patch, manager=names.STATUS_MANAGER, force=True)
