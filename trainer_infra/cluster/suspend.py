"""Suspending and resuming a run: `spec.suspend` of what starts its pods.

That is the JobSet, or the TrainJob from which a controller has it. One that Kueue queues is Kueue's to
suspend (design rule 4); one whose queue no Kueue manages is its user's. The field has a manager of its
own, so that writing the other fields again leaves it alone.
"""

from trainer_infra import names
from trainer_infra.cluster import kueue_objects, live_objects, object_writes
from trainer_infra.cluster.run_store import Record, RunStore
from trainer_infra.errors import NotAvailable, Refused
from trainer_infra.json_values import JSONObject
from trainer_infra.kube.client import KubeClient
from trainer_infra.kube.resource import JOBSET
from trainer_infra.runs.causes import kueue_workload
from trainer_infra.runs.run import RunKey


async def suspend_run(client: KubeClient, store: RunStore, key: RunKey, *, value: bool) -> None:
    """Suspend or resume a run; one that has ended stays as it is.

    Raises:
        NotAvailable: There is no such run, or its JobSet is gone.
        Refused: It is Kueue's to suspend, another owner's by now, or the cluster says no.
    """
    record = await store.present_record(client, key)
    if record.final:
        return
    starts = await _own_jobset(client, record) if store.holder_first else record.value
    if workload := await kueue_objects.managing_workload(client, starts):
        queue = kueue_workload.queue_of(starts)
        raise Refused(
            f"{record.key.shown()} is in queue {queue}, so Kueue alone suspends and resumes it; "
            f"change the queue, or spec.active of {workload}"
        )
    # The holder first: what it says counts when this is interrupted and done again.
    patches = [store.suspend_patch(record, value)]
    if store.holder_first:
        metadata = {key: starts["metadata"][key] for key in ("name", "namespace", "uid")}
        head = {"apiVersion": names.JOBSET_API_VERSION, "kind": names.JOBSET}
        patches.append({**head, "metadata": metadata, "spec": {"suspend": value}})
    for each in patches:
        with object_writes.explained(each):
            await client.apply(each, manager=names.SUSPEND_MANAGER, force=True)


async def _own_jobset(client: KubeClient, record: Record) -> JSONObject:
    jobset = await live_objects.named_object(client, JOBSET, record.name, record.namespace)
    if jobset is None or not record.owns(jobset):
        raise NotAvailable(f"{record.key.shown()} has no JobSet any more; run `pulumi refresh`")
    return jobset
