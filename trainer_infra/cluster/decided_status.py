"""A run's TrainJob.status, decided from its record as `lifecycle.status` decides it for every driver. Pure."""

from contextlib import suppress
from datetime import datetime
from functools import lru_cache

from trainer_infra.api.trainjob import TrainJob
from trainer_infra.cluster.run_store import Record
from trainer_infra.errors import InvalidInput, Unreadable
from trainer_infra.json_values import JSONObject
from trainer_infra.lifecycle.status import Delegation, TrainJobCase, decide_status
from trainer_infra.render import plugin_registry
from trainer_infra.render.behaviour import OURS, Behaviour
from trainer_infra.render.observed_objects import ObservedObjects
from trainer_infra.runs import reports, view


def decided_status(
    record: Record, seen: view.Observation, delegation: Delegation, now: datetime
) -> JSONObject:
    """The status, by what there is of the run: its JobSet and what its pods reported.

    Raises:
        Unreadable: What the record has is not a TrainJob.
    """
    leading = view.leading_report(seen.jobset, seen.pods, seen.reports) if seen.jobset else None
    observed = ObservedObjects(
        jobset=seen.jobset,
        snapshot=record.value if record.value["kind"] == "ConfigMap" else None,
        pods=tuple(map(reports.without_last_words, seen.pods)),
        jobs=seen.jobs,
        pod_events=seen.pod_events,
    )
    job = _train_job(record, {"trainerStatus": leading} if leading else {})
    return decide_status(TrainJobCase(job, observed, now, _behaviour(record.plugins), delegation))


def _train_job(record: Record, known: JSONObject) -> TrainJob:
    """The TrainJob with the status that is known; without UID, for it is not stored."""
    with suppress(InvalidInput):
        return TrainJob.model_validate({**record.job, "status": known or None})
    # A later release may have written fields that are unknown here; a status needs none of them.
    spec = record.job["spec"]
    kept = ("runtimeRef", "suspend", "activeDeadlineSeconds")
    least = {
        "metadata": {"name": record.name, "namespace": record.namespace},
        "spec": {key: spec[key] for key in kept if key in spec},
        "status": known or None,
    }
    try:
        return TrainJob.model_validate(least)
    except InvalidInput as error:
        raise Unreadable(str(error)) from None


@lru_cache(maxsize=16)
def _behaviour(plugins: tuple[str, ...]) -> Behaviour:
    """What rendered the run; ours alone where its plugins are not installed here."""
    try:
        return Behaviour(plugin_registry.plugins_with(plugins))
    except InvalidInput:
        return OURS
