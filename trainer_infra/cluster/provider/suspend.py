"""Suspending and resuming a run: `spec.suspend` of its JobSet, and of the TrainJob in its record.

A JobSet that Kueue queues is Kueue's to suspend (design rule 4); one whose queue no Kueue manages
is its user's. The field has a manager of its own, so that writing the other fields again leaves it
alone.
"""

from trainer_infra import names
from trainer_infra.cluster import (
    kueue_objects,
    live_objects,
    ownership,
    record_lookup,
    refusal_explanation,
)
from trainer_infra.cluster.provider import record as run_record
from trainer_infra.cluster.provider.record_store import RECORDS
from trainer_infra.errors import NotAvailable, Refused
from trainer_infra.kube.client import KubeClient
from trainer_infra.kube.refusals import Answer
from trainer_infra.runs.causes import kueue_workload
from trainer_infra.runs.run import RunKey


async def suspend_run(client: KubeClient, key: RunKey, *, value: bool) -> None:
    """Suspend or resume a run; one that has ended stays as it is.

    Args:
        client: the cluster.
        key: which run.
        value: whether it is to be suspended.

    Raises:
        NotAvailable: There is no such run, or its JobSet is gone.
        Refused: It is Kueue's to suspend, another owner's by now, or the cluster says no.
    """
    record = await record_lookup.present_record(client, RECORDS, key)
    if record.final:
        return
    wanted = {"apiVersion": names.JOBSET_API_VERSION, "kind": names.JOBSET}
    metadata = {"name": record.name, "namespace": record.namespace}
    jobset = await live_objects.live_object(client, {**wanted, "metadata": metadata})
    if jobset is None or not ownership.is_of(jobset, record.uid):
        raise NotAvailable(
            f"{ownership.run_shown(record)} has no JobSet any more; run `pulumi refresh`"
        )
    if workload := await kueue_objects.managing_workload(client, jobset):
        queue = kueue_workload.queue_of(jobset)
        raise Refused(
            f"{ownership.run_shown(record)} is in queue {queue}, so Kueue alone suspends and resumes it; "
            f"change the queue, or spec.active of {workload}"
        )
    patch = {**wanted, "metadata": {**metadata, "uid": jobset["metadata"]["uid"]}}
    # The record first: what it says counts when this is interrupted and done again.
    for each in (run_record.suspend_patch(record, value), {**patch, "spec": {"suspend": value}}):
        try:
            await client.apply(each, manager=names.SUSPEND_MANAGER, force=True)
        except Answer as error:
            raise refusal_explanation.explain_refusal(error, each) from error
