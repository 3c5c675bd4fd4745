"""Suspending and resuming a run: `spec.suspend` of its TrainJob, from which the controller has it.

A TrainJob that Kueue queues is Kueue's to suspend (design rule 4). The field has a manager of its
own, so that writing the other fields again leaves it alone.
"""

from trainer_infra import names
from trainer_infra.cluster import (
    kueue_objects,
    ownership,
    record_lookup,
    refusal_explanation,
)
from trainer_infra.cluster.controller import job_record
from trainer_infra.cluster.controller.job_store import JOBS
from trainer_infra.errors import Refused
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
        NotAvailable: There is no such run.
        Refused: It is Kueue's to suspend, another owner's by now, or the cluster says no.
    """
    record = await record_lookup.present_record(client, JOBS, key)
    if record.final:
        return
    if workload := await kueue_objects.managing_workload(client, record.value):
        queue = kueue_workload.queue_of(record.value)
        raise Refused(
            f"{ownership.run_shown(record)} is in queue {queue}, so Kueue alone suspends and resumes it; "
            f"change the queue, or spec.active of {workload}"
        )
    patch = job_record.suspend_patch(record, value)
    try:
        await client.apply(patch, manager=names.SUSPEND_MANAGER, force=True)
    except Answer as error:
        raise refusal_explanation.explain_refusal(error, patch) from error
