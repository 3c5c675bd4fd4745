"""Deleting a run: its JobSet first, then what else it owns, the record last.

The JobSet is deleted in the foreground, so that it is gone when its pods are. Interrupted anywhere,
it goes on with the next call: the record, by which everything is found, goes last (design rule 5).
"""

from contextlib import suppress

from trainer_infra import names
from trainer_infra.cluster import concurrent_requests, ownership, removal
from trainer_infra.cluster import rights as account_rights
from trainer_infra.cluster.provider import record as run_record
from trainer_infra.cluster.rights import Rights
from trainer_infra.cluster.run_record import Record
from trainer_infra.errors import Unreadable
from trainer_infra.json_values import JSONObject
from trainer_infra.kube.client import KubeClient
from trainer_infra.kube.refusals import Conflict, NotFound
from trainer_infra.kube.resource import CONFIG_MAP
from trainer_infra.runs import sentences
from trainer_infra.runs.run import RunKey


async def delete_run(
    client: KubeClient, key: RunKey, within: float, rights: Rights | None = None
) -> str:
    """End a run and remove what is left of it; a warning sentence, or empty.

    Args:
        client: the cluster.
        key: which run; another one of that name, and one of another owner, is left alone.
        within: seconds to wait until its pods are gone.
        rights: of this account; asked before anything is deleted.

    Raises:
        Refused: A right is missing, or the cluster says no.
        Unreadable: The record is damaged, and no UID says that it is meant.
    """
    with suppress(NotFound):
        value = await client.get(CONFIG_MAP, run_record.name_of(key.name), key.namespace)
        if key.uid not in ("", value["metadata"]["uid"]):
            return ""
        try:
            record = run_record.read_record(value)
        except Unreadable:
            if not key.uid:
                raise
            return await _damaged_removed(client, key, value, within)
        return await _with_record(client, key, record, within, rights) if record else ""
    # An earlier call removed the record, after its JobSet did not go in time.
    return await removal.jobset_removed(client, key, within) if key.uid else ""


async def _with_record(
    client: KubeClient, key: RunKey, record: Record, within: float, rights: Rights | None
) -> str:
    if key.owner is not None and not record.owner.is_same(key.owner):
        return sentences.left_alone(key.namespace, key.name, record.owner.shown())
    if rights is not None:
        what = f"delete {ownership.run_shown(record)}"
        wanted = await account_rights.to_delete(client, (record.value, *record.objects))
        await rights.require(key.namespace, wanted, what)
    return await remove_objects(client, record, within)


async def _damaged_removed(
    client: KubeClient, key: RunKey, value: JSONObject, within: float
) -> str:
    """Remove a run by its UID alone; the garbage collector takes what only the record could name."""
    if key.owner is not None and not run_record.may_be_of(value, key.owner):
        return sentences.left_alone(key.namespace, key.name, ownership.owner_shown(value))
    left = await removal.jobset_removed(client, key, within)
    with suppress(NotFound, Conflict):
        await client.delete(CONFIG_MAP, value["metadata"]["name"], key.namespace, uid=key.uid)
    return left


async def remove_objects(client: KubeClient, record: Record, within: float) -> str:
    """Remove everything of a run; a warning sentence, or empty."""
    key = RunKey(record.namespace, record.name, record.uid)
    left = await removal.jobset_removed(client, key, within)
    others = [each for each in record.objects if each["kind"] != names.JOBSET]
    await concurrent_requests.all_results(
        removal.owned_removed(client, record, each) for each in others
    )
    with suppress(NotFound, Conflict):
        name = run_record.name_of(record.name)
        await client.delete(CONFIG_MAP, name, record.namespace, uid=record.uid)
    return left
