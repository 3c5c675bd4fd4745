"""Writing again what is the run's: fields that another writer changed, and values of its own Secret.

Exactly the objects that drifted are written, by force, with the contents that the state has and the
record does not: what another writer put there instead never stays.
"""

from collections.abc import Mapping

from trainer_infra import names
from trainer_infra.cluster import (
    drift,
    live_objects,
    object_contents,
    object_rewrite,
    record_lookup,
    refusal_explanation,
)
from trainer_infra.cluster.run_record import Record
from trainer_infra.cluster.run_store import RunStore
from trainer_infra.kube.client import KubeClient
from trainer_infra.kube.refusals import Answer
from trainer_infra.runs.run import Contents, RunKey


async def repair_run(client: KubeClient, store: RunStore, key: RunKey, known: Contents) -> Record:
    """Write every object again that has a field of ours changed, or is gone.

    A JobSet that is gone is a lost run: it is not made again. A TrainJob that keeps the run itself is the
    engine's to write again; the record is returned.

    Args:
        client: the cluster.
        store: where its engine keeps runs.
        key: which run.
        known: contents of objects, as the state has them.

    Raises:
        NotAvailable: There is no such run; or an object is gone whose contents are kept nowhere.
        Refused: The run, or an object of that name, is another owner's by now, or the cluster says
            no.
    """
    record = await record_lookup.present_record(client, store, key)
    for each in record.objects:
        live = await live_objects.live_object(client, each, record.namespace)
        if each["kind"] == names.TRAIN_JOB or (live is None and each["kind"] == names.JOBSET):
            continue
        if drift.drifted_fields(each, live):
            await object_rewrite.rewrite_object(client, record, each, known)
    return record


async def replace_secrets(
    client: KubeClient, store: RunStore, key: RunKey, data: Mapping[str, str]
) -> None:
    """Replace the values of the job's own Secret; a job without one has none.

    Args:
        client: the cluster.
        store: where its engine keeps runs.
        key: which run.
        data: every key with its value.

    Raises:
        NotAvailable: There is no such run.
        Refused: It is another owner's by now, or the cluster says no.
    """
    record = await record_lookup.present_record(client, store, key)
    for each in record.objects:
        if not object_contents.is_own_secret(each, record):
            continue
        new = object_contents.to_create(each, record, Contents(data))
        try:
            await client.apply(new, manager=names.FIELD_MANAGER, force=True)
        except Answer as error:
            raise refusal_explanation.explain_refusal(error, new) from error
