"""Deleting a run: what starts its pods first, then what else it owns.

With a holder that only records that is the JobSet, and the holder goes last: by it everything is found,
so that a delete that was interrupted anywhere goes on with the next call (design rule 5). A holder that a
controller drives goes first, so that the controller makes nothing again, and then its JobSet. A JobSet is
deleted in the foreground, so that it is gone when its pods are; a TrainJob is not: to let it go is an
update, which the controller's webhook refuses once the runtime is gone.
"""

import asyncio
import time
from contextlib import aclosing, suppress
from typing import Final

from trainer_infra import names
from trainer_infra.cluster import live_objects
from trainer_infra.cluster.rights import Rights
from trainer_infra.cluster.run_store import Record, RunStore
from trainer_infra.errors import Unreadable
from trainer_infra.json_values import JSONObject
from trainer_infra.kube.client import KubeClient, ObjectSelection, Propagation
from trainer_infra.kube.refusals import Answer, Conflict, NotFound, NotServed, Unreachable
from trainer_infra.kube.resource import JOBSET, Resource
from trainer_infra.runs import sentences
from trainer_infra.runs.run import RunKey

SHORTEST: Final = 0.05
LONGEST: Final = 0.5
"""Seconds between two looks at an object that is being deleted and may not be watched; they double."""


async def delete_run(
    client: KubeClient, store: RunStore, key: RunKey, within: float, account: Rights | None = None
) -> str:
    """End a run and remove what is left of it; a warning sentence, or empty.

    Another run of that name, and one of another owner, is left alone. The account's rights are asked for
    before anything is deleted; after so many seconds its pods are not waited for any more.

    Raises:
        Refused: A right is missing, or the cluster says no.
        Unreadable: What is kept of it is damaged, and no UID says that it is meant.
    """
    value = await store.live_holder(client, key)
    if value is None:
        # An earlier call removed the holder, after the JobSet did not go in time.
        return await _jobset_removed(client, key, within) if key.uid else ""
    if key.uid not in ("", store.uid_of(value)):
        return ""
    try:
        record = store.read_record(value)
    except Unreadable:
        if not key.uid:
            raise
        return await _damaged_removed(client, store, key, value, within)
    if record is None:
        return ""
    if key.owner is not None and not record.owner.is_same(key.owner):
        return sentences.left_alone(key, record.owner.shown())
    if account is not None:
        jobset = {"apiVersion": names.JOBSET_API_VERSION, "kind": names.JOBSET}
        await account.require_delete(record.key, (record.value, *record.owned, jobset))
    return await remove_objects(client, store, record, within)


async def _damaged_removed(
    client: KubeClient, store: RunStore, key: RunKey, value: JSONObject, within: float
) -> str:
    """Remove a run by its UID alone; the garbage collector takes what only its record could name."""
    if key.owner is not None and not store.may_be_of(value, key.owner):
        return sentences.left_alone(key, live_objects.owner_shown(value))
    left = await pods_removed(client, store, key, value, within)
    if store.holder_first:
        await delete_object(client, value)
    return left


async def remove_objects(client: KubeClient, store: RunStore, record: Record, within: float) -> str:
    """Remove everything of a run; a warning sentence, or empty."""
    left = await pods_removed(client, store, record.key, record.value, within)
    await live_objects.all_results(
        _owned_removed(client, record, each)
        for each in record.owned
        if each["kind"] != names.JOBSET
    )
    if store.holder_first:
        await delete_object(client, record.value)
    return left


async def pods_removed(
    client: KubeClient, store: RunStore, key: RunKey, value: JSONObject, within: float
) -> str:
    """Delete what starts the pods of a run, with them; a sentence about what is left, or empty."""
    if not store.holder_first and (left := await object_removed(client, store.kind, value, within)):
        return f"{_still_there(left)}; it waits for its finalizers: {finalizers(left)}"
    owned = RunKey(key.namespace, key.name, value["metadata"]["uid"])
    return await _jobset_removed(client, owned, within)


async def _jobset_removed(client: KubeClient, key: RunKey, within: float) -> str:
    """Delete the JobSet that is owned by the object of the key's UID; a sentence about what is left, or empty."""
    jobset = await live_objects.named_object(client, JOBSET, key.name, key.namespace)
    left = None
    if jobset is not None and live_objects.is_of(jobset, key.uid):
        with suppress(NotServed):
            left = await object_removed(client, JOBSET, jobset, within, "Foreground")
    if left is None:
        return ""
    return f"{_still_there(left)}, and so may its pods be; it waits for its finalizers: {finalizers(left)}"


def _still_there(value: JSONObject) -> str:
    return f"{live_objects.object_shown(value)} is still being deleted"


def finalizers(value: JSONObject) -> str:
    """What an object that is being deleted waits for."""
    return ", ".join(value["metadata"].get("finalizers") or ()) or "none"


async def object_removed(
    client: KubeClient,
    kind: Resource,
    value: JSONObject,
    within: float,
    propagation: Propagation = "Background",
) -> JSONObject | None:
    """Delete that very object; what is left of it after the timeout."""
    metadata = value["metadata"]
    key, uid = (metadata["name"], metadata["namespace"]), metadata["uid"]
    until, pause = time.monotonic() + within, SHORTEST
    with suppress(NotFound, Conflict):
        await client.delete(kind, *key, uid=uid, propagation=propagation)
        if await _is_seen_to_go(client, kind, value, within):
            return None
        while (now := await client.get(kind, *key))["metadata"]["uid"] == uid:
            if time.monotonic() > until:
                return now
            await asyncio.sleep(pause)
            pause = min(LONGEST, 2 * pause)
    return None


async def _is_seen_to_go(
    client: KubeClient, kind: Resource, value: JSONObject, within: float
) -> bool:
    """Whether the server says that the object is gone.

    A watch says so at once and costs the server one request, where looking again and again is late
    by as long as the pause was. False when it did not go in time, or who asks may not watch.
    """
    metadata = value["metadata"]
    selection = ObjectSelection(
        kind, metadata["namespace"], fields=f"metadata.name={metadata['name']}"
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


async def _owned_removed(client: KubeClient, record: Record, value: JSONObject) -> None:
    """Delete one object, if it is the run's: a cluster without a garbage collector keeps it."""
    found = await live_objects.live_object(client, value, record.namespace)
    if found is not None and record.owns(found):
        await delete_object(client, found)


async def delete_object(client: KubeClient, value: JSONObject) -> None:
    """Delete that very object; gone already is fine."""
    metadata = value["metadata"]
    kind = await live_objects.resource_of(client, value)
    with suppress(NotFound, Conflict):
        await client.delete(kind, metadata["name"], metadata["namespace"], uid=metadata["uid"])
