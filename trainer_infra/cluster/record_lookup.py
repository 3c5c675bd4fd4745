"""The record of a run that must be there, and still be the one and the owner's that is meant.

For every verb that changes or reads a run of which the caller knows.
"""

from contextlib import suppress

from trainer_infra.cluster.run_record import Record
from trainer_infra.cluster.run_store import RunStore
from trainer_infra.errors import NotAvailable, Refused
from trainer_infra.kube.client import KubeClient
from trainer_infra.kube.refusals import NotFound, NotServed
from trainer_infra.runs import sentences
from trainer_infra.runs.run import RunKey


async def present_record(client: KubeClient, store: RunStore, key: RunKey) -> Record:
    """The record.

    Raises:
        NotAvailable: There is no run of that name, or it has another UID.
        Refused: It is another owner's by now.
        Unreadable: The record is damaged.
    """
    with suppress(NotFound, NotServed):
        value = await client.get(store.kind, store.object_name(key.name), key.namespace)
        record = store.read_record(value)
        if record is not None and key.uid in ("", record.uid):
            if key.owner is not None and not record.owner.is_same(key.owner):
                raise Refused(sentences.taken_by(record))
            return record
    shown = f" with uid {key.uid}" if key.uid else ""
    raise NotAvailable(
        f"there is no run {key.namespace}/{key.name}{shown} in the cluster {client.server}"
    )
