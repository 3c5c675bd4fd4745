"""Running a run again that failed: its TrainJob is deleted and made again, with the UID of the run.

What its pods mount is set free first and kept, so that a retry that is killed loses nothing that
the next submit of the run cannot make again. The new TrainJob says which run it is.
"""

from trainer_infra import names
from trainer_infra.cluster import (
    live_objects,
    ownership,
    record_lookup,
    refusal_explanation,
    rights,
)
from trainer_infra.cluster.controller import contents, delete, job_record
from trainer_infra.cluster.controller.job_store import JOBS
from trainer_infra.cluster.rights import Rights
from trainer_infra.cluster.run_record import Record
from trainer_infra.errors import NotAvailable
from trainer_infra.json_values import JSONObject
from trainer_infra.kube.client import KubeClient
from trainer_infra.kube.refusals import Answer
from trainer_infra.runs.run import Contents, RunKey


async def retry_run(client: KubeClient, key: RunKey, within: float, account: Rights) -> None:
    """Run it again.

    Args:
        client: the cluster.
        key: which run; of what failed.
        within: seconds to wait until the pods of the last try are gone.
        account: of whom the rights are asked before anything changes.

    Raises:
        NotAvailable: There is no such run, its pods do not go, or what its pods mount is lost.
        Refused: It is another owner's by now, a right is missing, or the cluster says no.
    """
    record = await record_lookup.present_record(client, JOBS, key)
    wanted = await rights.to_submit(client, record.objects)
    await account.require(record.namespace, wanted, f"retry {ownership.run_shown(record)}")
    kept = [await _kept(client, record, each) for each in record.objects[:-1]]
    for each in kept:
        # Without an owner it stays when the TrainJob goes.
        await _write(client, {**each, "metadata": {**each["metadata"], "ownerReferences": []}})
    if left := await delete.job_removed(client, record.value, within):
        raise NotAvailable(f"{left}; run it again when that is gone")
    job = job_record.repeated_job(record)
    try:
        stored = await client.create(job, manager=names.FIELD_MANAGER)
    except Answer as error:
        raise refusal_explanation.explain_refusal(error, job) from error
    await contents.write_owned(client, job_record.known_record(stored), Contents())


async def _kept(client: KubeClient, record: Record, value: JSONObject) -> JSONObject:
    """What a pod mounts, whole, as it is there now."""
    live = await live_objects.live_object(client, value, record.namespace)
    if live is None:
        raise NotAvailable(
            f"{ownership.object_shown({**value, 'metadata': {**value['metadata'], 'namespace': record.namespace}})} "
            "was deleted, and what was in it is kept nowhere else; raise attempt to run the job again"
        )
    metadata = {
        "name": live["metadata"]["name"],
        "namespace": record.namespace,
        "labels": value["metadata"].get("labels") or {},
    }
    fields = ("apiVersion", "kind", "type", "immutable", "data", "binaryData")
    return {**{key: live[key] for key in fields if key in live}, "metadata": metadata}


async def _write(client: KubeClient, value: JSONObject) -> None:
    try:
        await client.apply(value, manager=names.FIELD_MANAGER, force=True)
    except Answer as error:
        raise refusal_explanation.explain_refusal(error, value) from error
