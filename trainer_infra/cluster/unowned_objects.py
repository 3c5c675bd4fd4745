"""What pods of a run mount and we store: its code and its own Secret, before and after its TrainJob.

They are created first, for the pods need them, and have no owner yet; right after the TrainJob
exists it owns them. What a submit that was killed left has no owner for good: an hour later it is
collected, by the next submit in the namespace or by `trainer-infra gc`.
"""

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Final

from trainer_infra import names
from trainer_infra.cluster import delete, live_objects, object_writes
from trainer_infra.cluster.run_store import Record
from trainer_infra.json_values import JSONObject
from trainer_infra.kube.client import KubeClient, ObjectSelection
from trainer_infra.kube.refusals import Exists, Forbidden, NotFound
from trainer_infra.kube.resource import CONFIG_MAP, SECRET, TRAIN_JOB
from trainer_infra.runs.run import Contents, is_fixed

UNOWNED_FOR: Final = timedelta(hours=1)
"""After this time what has no owner belongs to no submit that still runs."""
_OF_RUNS: Final = f"{names.RUN_LABEL},!{names.RECORD_LABEL}"


async def create_unowned(client: KubeClient, value: JSONObject) -> bool:
    """Create what a TrainJob will own, with its contents; whether it was not there before.

    Raises:
        Refused: An object of that name is not the run's, or the cluster says no.
    """
    with object_writes.explained(value), suppress(Exists):
        await client.create(value, manager=names.FIELD_MANAGER)
        return True
    live = await live_objects.live_object(client, value)
    if live is None or live_objects.is_going(live):
        return await create_unowned(client, value)
    if not _is_left_of(live, value):
        raise live_objects.name_taken(live)
    if value["kind"] == SECRET.kind:
        await client.apply(value, manager=names.FIELD_MANAGER, force=True)
    return False


async def write_owned(client: KubeClient, record: Record, known: Contents) -> None:
    """Write all that a TrainJob owns of what we store, as its own.

    Raises:
        Refused: An object of that name is not the run's, or the cluster says no.
    """
    await live_objects.all_results(
        _write_owned(client, record, each, known) for each in record.owned
    )


async def _write_owned(
    client: KubeClient, record: Record, value: JSONObject, known: Contents
) -> None:
    whole = object_writes.to_create(value, record, known)
    live = await live_objects.live_object(client, whole)
    if live is not None and not (record.owns(live) or _is_left_of(live, whole)):
        raise live_objects.name_taken(live)
    if object_writes.is_empty(whole):
        if live is None:
            return
        whole = object_writes.to_apply(value, record, live, known)
    with object_writes.explained(whole):
        await client.apply(whole, manager=names.FIELD_MANAGER, force=True)


async def remove_unowned(client: KubeClient, values: Sequence[JSONObject]) -> None:
    """Delete those that are still without an owner."""
    for value in values:
        live = await live_objects.live_object(client, value)
        if live is not None and not live["metadata"].get("ownerReferences"):
            await delete.delete_object(client, live)


async def collect_unowned(client: KubeClient, namespace: str, now: datetime) -> tuple[str, ...]:
    """Delete what killed submits left in a namespace, or with an empty one in all, an hour later; what is deleted.

    What a TrainJob needs that exists is given to it instead, by the next submit of it. Secrets are not
    listed: that of a run is found by the code beside it.

    Raises:
        NotServed: The cluster has no TrainJobs.
    """
    # Where no TrainJobs are served, nothing is known of what needs them.
    await client.resource(names.API_VERSION, names.TRAIN_JOB)
    page = await client.list(ObjectSelection(CONFIG_MAP, namespace, _OF_RUNS))
    gone: list[str] = []
    for each in page.items:
        if is_fixed(each) and _is_forgotten(each, now) and not await _has_job(client, each):
            run, space = each["metadata"]["labels"][names.RUN_LABEL], each["metadata"]["namespace"]
            secret = f"{run}{names.SECRET_SUFFIX}"
            beside = await live_objects.named_object(client, SECRET, secret, space)
            for value in filter(None, (beside, each)):
                if (
                    _is_forgotten(value, now)
                    and value["metadata"]["labels"].get(names.RUN_LABEL) == run
                ):
                    await delete.delete_object(client, value)
                    gone.append(live_objects.object_shown(value))
    return tuple(gone)


def _is_left_of(live: JSONObject, wanted: JSONObject) -> bool:
    """Whether an object without an owner is what a killed submit of the same run left."""
    metadata = live["metadata"]
    labels = metadata.get("labels") or {}
    keys = (names.RUN_LABEL, names.PROJECT_LABEL, names.STACK_LABEL, names.URN_LABEL)
    ours = wanted["metadata"]["labels"]
    return not metadata.get("ownerReferences") and all(
        labels.get(each) == ours[each] for each in keys
    )


def _is_forgotten(value: JSONObject, now: datetime) -> bool:
    metadata = value["metadata"]
    age = now - datetime.fromisoformat(metadata["creationTimestamp"])
    labels = metadata.get("labels") or {}
    return names.RUN_LABEL in labels and not metadata.get("ownerReferences") and age > UNOWNED_FOR


async def _has_job(client: KubeClient, value: JSONObject) -> bool:
    metadata = value["metadata"]
    name = metadata["name"].partition(f"{names.CODE_SUFFIX}-")[0]
    try:
        job = await client.get(TRAIN_JOB, name, metadata["namespace"])
    except NotFound:
        return False
    except Forbidden:
        # Who may not look must not conclude that there is none.
        return True
    return names.RUN_LABEL in (job["metadata"].get("labels") or {})
