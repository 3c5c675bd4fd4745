"""The record of a run that must be there.

Called by every verb that changes or reads a run of which the caller knows.
"""

from contextlib import suppress

from trainer_infra.cluster import record as of_record
from trainer_infra.cluster.record import Record
from trainer_infra.errors import NotAvailable
from trainer_infra.kube.client import KubeClient
from trainer_infra.kube.refusals import NotFound
from trainer_infra.kube.resource import CONFIG_MAP


async def present(client: KubeClient, namespace: str, name: str, uid: str = "") -> Record:
    """The record.

    Raises:
        NotAvailable: There is no run of that name, or it has another UID.
    """
    with suppress(NotFound):
        value = await client.get(CONFIG_MAP, of_record.name_of(name), namespace)
        record = of_record.read(value)
        if record is not None and uid in ("", record.uid):
            return record
    shown = f" with uid {uid}" if uid else ""
    raise NotAvailable(f"there is no run {namespace}/{name}{shown} in the cluster {client.server}")
