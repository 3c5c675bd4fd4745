"""Removing objects of a run, of whatever engine: its JobSet with its pods, and what else it owns.

The JobSet is deleted in the foreground, so that it is gone when its pods are.
"""

import asyncio
import time
from contextlib import aclosing, suppress
from typing import Final

from trainer_infra.cluster import live_objects, ownership
from trainer_infra.cluster.run_record import Record
from trainer_infra.json_values import JSONObject
from trainer_infra.kube.client import KubeClient, ObjectSelection, Propagation
from trainer_infra.kube.refusals import Answer, Conflict, NotFound, Unreachable
from trainer_infra.kube.resource import JOBSET, Resource
from trainer_infra.runs.run import RunKey

SHORTEST: Final = 0.05
LONGEST: Final = 0.5
"""Seconds between two looks at an object that is being deleted and may not be watched; they double."""


async def jobset_removed(client: KubeClient, key: RunKey, within: float) -> str:
    """Delete the JobSet of a run; a sentence about what is left of it, or empty.

    Args:
        client: the cluster.
        key: its name, and the UID of the object that must own it: another one's is left alone.
        within: seconds to wait until its pods are gone.
    """
    left = None
    with suppress(NotFound):
        jobset = await client.get(JOBSET, key.name, key.namespace)
        if ownership.is_of(jobset, key.uid):
            left = await object_removed(client, JOBSET, jobset, within, "Foreground")
    if left is None:
        return ""
    return f"{still_there(left)}, and so may its pods be; it waits for its finalizers: {finalizers(left)}"


def still_there(value: JSONObject) -> str:
    """That an object is still being deleted."""
    return f"{ownership.object_shown(value)} is still being deleted"


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


async def owned_removed(client: KubeClient, record: Record, value: JSONObject) -> None:
    """Delete one object, if it is the run's: a cluster without a garbage collector keeps it."""
    found = await live_objects.live_object(client, value, record.namespace)
    if found is None or not ownership.is_of(found, record.holder):
        return
    metadata = found["metadata"]
    with suppress(NotFound, Conflict):
        kind = await live_objects.resource_of(client, value)
        await client.delete(kind, metadata["name"], metadata["namespace"], uid=metadata["uid"])
