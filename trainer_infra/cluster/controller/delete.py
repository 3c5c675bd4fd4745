"""Deleting a run: its TrainJob first, so that the controller makes nothing again, then the rest.

The TrainJob goes at once, its JobSet in the foreground, so that it is gone when its pods are. A
TrainJob is not deleted in the foreground: to let it go is an update, which the controller's webhook
refuses once the runtime is gone.
"""

from contextlib import suppress

from trainer_infra import names
from trainer_infra.cluster import concurrent_requests, ownership, removal
from trainer_infra.cluster import rights as account_rights
from trainer_infra.cluster.controller import job_record
from trainer_infra.cluster.rights import Rights
from trainer_infra.cluster.run_record import Record
from trainer_infra.errors import Unreadable
from trainer_infra.json_values import JSONObject
from trainer_infra.kube.client import KubeClient
from trainer_infra.kube.refusals import NotFound, NotServed
from trainer_infra.kube.resource import TRAIN_JOB
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
        Unreadable: What is known of it is damaged, and no UID says that it is meant.
    """
    with suppress(NotFound, NotServed):
        value = await client.get(TRAIN_JOB, key.name, key.namespace)
        if key.uid not in ("", job_record.uid_of(value)):
            return ""
        try:
            record = job_record.read_record(value)
        except Unreadable:
            if not key.uid:
                raise
            return await _damaged_removed(client, key, value, within)
        return await _with_record(client, key, record, within, rights) if record else ""
    # An earlier call removed the TrainJob, after its JobSet did not go in time.
    with suppress(NotServed):
        return await removal.jobset_removed(client, key, within) if key.uid else ""
    return ""


async def _with_record(
    client: KubeClient, key: RunKey, record: Record, within: float, rights: Rights | None
) -> str:
    if key.owner is not None and not record.owner.is_same(key.owner):
        return sentences.left_alone(key.namespace, key.name, record.owner.shown())
    if rights is not None:
        what = f"delete {ownership.run_shown(record)}"
        jobset = {"apiVersion": names.JOBSET_API_VERSION, "kind": names.JOBSET}
        wanted = await account_rights.to_delete(client, (jobset, *record.objects))
        await rights.require(key.namespace, wanted, what)
    return await remove_objects(client, record, within)


async def _damaged_removed(
    client: KubeClient, key: RunKey, value: JSONObject, within: float
) -> str:
    """Remove a run by its UID alone; the garbage collector takes what only it could name."""
    if key.owner is not None and not job_record.may_be_of(value, key.owner):
        return sentences.left_alone(key.namespace, key.name, ownership.owner_shown(value))
    return await job_removed(client, value, within)


async def remove_objects(client: KubeClient, record: Record, within: float) -> str:
    """Remove everything of a run; a warning sentence, or empty."""
    left = await job_removed(client, record.value, within)
    await concurrent_requests.all_results(
        removal.owned_removed(client, record, each) for each in record.objects[:-1]
    )
    return left


async def job_removed(client: KubeClient, value: JSONObject, within: float) -> str:
    """Delete a TrainJob with its JobSet and pods; a sentence about what is left, or empty."""
    metadata = value["metadata"]
    if left := await removal.object_removed(client, TRAIN_JOB, value, within):
        waits = f"it waits for its finalizers: {removal.finalizers(left)}"
        return f"{removal.still_there(left)}; {waits}"
    key = RunKey(metadata["namespace"], metadata["name"], metadata["uid"])
    return await removal.jobset_removed(client, key, within)
