"""An object of a run written again over what is there."""

from trainer_infra import names
from trainer_infra.cluster import (
    drift,
    live_objects,
    object_contents,
    ownership,
    refusal_explanation,
)
from trainer_infra.cluster.run_record import Record
from trainer_infra.errors import NotAvailable, Refused
from trainer_infra.json_values import JSONObject
from trainer_infra.kube.client import KubeClient
from trainer_infra.kube.refusals import Answer, NotServed
from trainer_infra.runs.run import Contents


async def rewrite_object(
    client: KubeClient, record: Record, value: JSONObject, known: Contents
) -> JSONObject:
    """An object of the record written over what is there, or made again when it is gone.

    Args:
        client: the cluster.
        record: of the run.
        value: the object as the record has it.
        known: contents of objects that the record does not keep.

    Raises:
        NotAvailable: It is gone, and its contents are not known.
        Refused: It is another owner's by now, or the cluster says no.
    """
    now = await live_objects.live_object(client, value, record.namespace)
    if now is not None and not ownership.is_of(now, record.holder):
        raise Refused(
            f"{ownership.object_shown(now)} belongs to {ownership.owner_shown(now)} now; delete it, then run "
            "`pulumi up` again to have ours back"
        )
    changed = now is None or any(map(object_contents.is_content, drift.drifted_fields(value, now)))
    if now is None or changed:
        whole = object_contents.to_create(value, record, known)
        if object_contents.is_empty(whole):
            raise NotAvailable(
                f"{ownership.object_shown(whole)} was deleted or changed, and what was in it is kept "
                "nowhere else; raise attempt to run the job again"
            )
    else:
        whole = object_contents.to_apply(value, record, now, known)
    try:
        if now is not None and changed and now.get("immutable"):
            kind, metadata = await live_objects.resource_of(client, now), now["metadata"]
            await client.delete(kind, metadata["name"], metadata["namespace"], uid=metadata["uid"])
        return await client.apply(whole, manager=names.FIELD_MANAGER, force=True)
    except (Answer, NotServed) as error:
        raise refusal_explanation.explain_refusal(error, whole) from error
