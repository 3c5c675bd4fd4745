"""Running a run again that failed or was lost: the same record and UID, a new JobSet.

The old JobSet goes first, with its pods; what the run has besides is there still, or is written
again. The record says last that the run goes on: interrupted before that, it is still one that
failed, and the next call begins anew.
"""

from trainer_infra import names
from trainer_infra.cluster import (
    live_objects,
    object_rewrite,
    ownership,
    record_lookup,
    removal,
    rights,
)
from trainer_infra.cluster.provider import record as run_record
from trainer_infra.cluster.provider.record_store import RECORDS
from trainer_infra.cluster.rights import Rights
from trainer_infra.cluster.run_record import Record
from trainer_infra.errors import NotAvailable
from trainer_infra.json_values import JSONObject
from trainer_infra.kube.client import KubeClient
from trainer_infra.runs.run import Contents, RunKey


async def retry_run(client: KubeClient, key: RunKey, within: float, account: Rights) -> None:
    """Run it again.

    Args:
        client: the cluster.
        key: which run; of what failed, or was lost.
        within: seconds to wait until the pods of the last try are gone.
        account: of whom the rights are asked before anything changes.

    Raises:
        NotAvailable: There is no such run, its pods do not go, or contents of an object are lost.
        Refused: It is another owner's by now, a right is missing, or the cluster says no.
    """
    record = await record_lookup.present_record(client, RECORDS, key)
    what = f"retry {ownership.run_shown(record)}"
    wanted = await rights.to_submit(client, (record.value, *record.objects))
    await account.require(record.namespace, wanted, what)
    if left := await removal.jobset_removed(client, key, within):
        raise NotAvailable(f"{left}; run it again when that is gone")
    for each in record.objects[:-1]:
        if await live_objects.live_object(client, each, record.namespace) is None:
            await object_rewrite.rewrite_object(client, record, each, Contents())
    jobset = await object_rewrite.rewrite_object(client, record, _jobset(record), Contents())
    patch = run_record.restart_patch(record, jobset["metadata"]["uid"])
    await client.apply(patch, manager=names.STATUS_MANAGER, force=True)


def _jobset(record: Record) -> JSONObject:
    """The JobSet as it was applied, suspended as the user has the run now."""
    jobset = record.objects[-1]
    return {
        **jobset,
        "spec": {**jobset["spec"], "suspend": bool(record.job["spec"].get("suspend"))},
    }
