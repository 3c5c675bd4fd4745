"""Deleting a run: its JobSet first, then what else it owns, the record last.

Called by `runs`, and by `submit` for what it could not complete. The JobSet is deleted in the
foreground, so that it is gone when its pods are. Interrupted anywhere, it goes on with the next
call: the record, by which everything is found, goes last (design rule 5).
"""

import asyncio
import time
from contextlib import aclosing, suppress
from typing import Final

from trainer_infra import names
from trainer_infra.cluster import concurrent_requests, live_objects, ownership
from trainer_infra.cluster import rights as account_rights
from trainer_infra.cluster.provider import record as run_record
from trainer_infra.cluster.provider.record import Record
from trainer_infra.cluster.rights import Rights
from trainer_infra.errors import Unreadable
from trainer_infra.json_values import JSONObject
from trainer_infra.kube.client import KubeClient, ObjectSelection
from trainer_infra.kube.refusals import Answer, Conflict, NotFound, Unreachable
from trainer_infra.kube.resource import CONFIG_MAP, JOBSET
from trainer_infra.runs import sentences
from trainer_infra.runs.run import RunKey

SHORTEST: Final = 0.05
LONGEST: Final = 0.5
"""Seconds between two looks at a JobSet that is being deleted and may not be watched; they double."""


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
    return await jobset_removed(client, key, within) if key.uid else ""


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
    left = await jobset_removed(client, key, within)
    with suppress(NotFound, Conflict):
        await client.delete(CONFIG_MAP, value["metadata"]["name"], key.namespace, uid=key.uid)
    return left


async def jobset_removed(client: KubeClient, key: RunKey, within: float) -> str:
    """Delete the JobSet of the run with that UID; a sentence about what is left of it, or empty."""
    jobset = await _jobset_of(client, key, within)
    if jobset is None:
        return ""
    finalizers = ", ".join(jobset["metadata"].get("finalizers") or ()) or "none"
    return (
        f"{ownership.object_shown(jobset)} is still being deleted, and so may its pods be; it waits for "
        f"its finalizers: {finalizers}"
    )


async def _jobset_of(client: KubeClient, key: RunKey, within: float) -> JSONObject | None:
    """Delete the JobSet of the run with that UID; what is left of it after the timeout."""
    with suppress(NotFound):
        jobset = await client.get(JOBSET, key.name, key.namespace)
        if ownership.is_of(jobset, key.uid):
            return await _jobset_gone(client, jobset, within)
    return None


async def remove_objects(client: KubeClient, record: Record, within: float) -> str:
    """Remove everything of a run; a warning sentence, or empty."""
    key = RunKey(record.namespace, record.name, record.uid)
    left = await jobset_removed(client, key, within)
    others = [each for each in record.objects if each["kind"] != names.JOBSET]
    await concurrent_requests.all_results(_removed(client, record, each) for each in others)
    with suppress(NotFound, Conflict):
        name = run_record.name_of(record.name)
        await client.delete(CONFIG_MAP, name, record.namespace, uid=record.uid)
    return left


async def _jobset_gone(client: KubeClient, jobset: JSONObject, within: float) -> JSONObject | None:
    """Delete the JobSet with its pods; what is left of it after the timeout."""
    metadata = jobset["metadata"]
    key, uid = (metadata["name"], metadata["namespace"]), metadata["uid"]
    until, pause = time.monotonic() + within, SHORTEST
    with suppress(NotFound, Conflict):
        await client.delete(JOBSET, *key, uid=uid, propagation="Foreground")
        if await _is_seen_to_go(client, jobset, within):
            return None
        while (now := await client.get(JOBSET, *key))["metadata"]["uid"] == uid:
            if time.monotonic() > until:
                return now
            await asyncio.sleep(pause)
            pause = min(LONGEST, 2 * pause)
    return None


async def _is_seen_to_go(client: KubeClient, jobset: JSONObject, within: float) -> bool:
    """Whether the server says that the JobSet is gone.

    A watch says so at once and costs the server one request, where looking again and again is late
    by as long as the pause was. False when it did not go in time, or who asks may not watch.
    """
    metadata = jobset["metadata"]
    selection = ObjectSelection(
        JOBSET, metadata["namespace"], fields=f"metadata.name={metadata['name']}"
    )
    with suppress(TimeoutError, Answer, Unreachable):
        async with (
            asyncio.timeout(within),
            aclosing(client.watch(selection, metadata["resourceVersion"])) as changes,
        ):
            async for change in changes:
                if change.type == "DELETED" and change.value["metadata"]["uid"] == metadata["uid"]:
                    return True
    return False


async def _removed(client: KubeClient, record: Record, value: JSONObject) -> None:
    """Delete one object, if it is the run's: a cluster without a garbage collector keeps it."""
    found = await live_objects.live_object(client, value, record.namespace)
    if found is None or not ownership.is_of(found, record.uid):
        return
    metadata = found["metadata"]
    with suppress(NotFound, Conflict):
        kind = await live_objects.resource_of(client, value)
        await client.delete(kind, metadata["name"], metadata["namespace"], uid=metadata["uid"])
