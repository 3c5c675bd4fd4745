"""The record of a run that must be there, and still be the one and the owner's that is meant.

For every verb that changes or reads a run of which the caller knows.
"""

from contextlib import suppress

from trainer_infra.cluster.provider import record as run_record
from trainer_infra.cluster.provider.record import Record
from trainer_infra.errors import NotAvailable, Refused
from trainer_infra.kube.client import KubeClient
from trainer_infra.kube.refusals import NotFound
from trainer_infra.kube.resource import CONFIG_MAP
from trainer_infra.runs import sentences
from trainer_infra.runs.run import RunKey


async def present_record(client: KubeClient, key: RunKey) -> Record:
    """The record.

    Raises:
        NotAvailable: There is no run of that name, or it has another UID.
        Refused: It is another owner's by now.
        Unreadable: The record is damaged.
    """
    with suppress(NotFound):
        value = await client.get(CONFIG_MAP, run_record.name_of(key.name), key.namespace)
        record = run_record.read_record(value)
        if record is not None and key.uid in ("", record.uid):
            if key.owner is not None and not record.owner.is_same(key.owner):
                raise Refused(sentences.taken_by(record))
            return record
    shown = f" with uid {key.uid}" if key.uid else ""
    raise NotAvailable(
        f"there is no run {key.namespace}/{key.name}{shown} in the cluster {client.server}"
    )
