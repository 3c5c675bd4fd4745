"""A run of engine `provider` as it is now, from its record and what was observed. Pure.

Called by `run_lookup` at each look. No TrainJob is stored, so its status is decided here, as
`lifecycle.status` decides it for every driver; the deadline is its Jobs' to keep (`Delegation`).
"""

from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from typing import Final

from trainer_infra import names
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.cluster.provider.record import Record, unreadable_record
from trainer_infra.errors import InvalidInput
from trainer_infra.json_values import JSONObject
from trainer_infra.lifecycle.status import Delegation, TrainJobCase, decide_status
from trainer_infra.render import plugin_registry
from trainer_infra.render.behaviour import OURS, Behaviour
from trainer_infra.render.observed_objects import ObservedObjects
from trainer_infra.runs import reports, view
from trainer_infra.runs.causes import kueue_workload
from trainer_infra.runs.run import LOST, Run
from trainer_infra.runs.view import Observation
from trainer_infra.runs.waiting_cause import Cause

GONE: Final = "its JobSet was deleted before it ended; raise attempt to run it again"
UNFINISHED_SUBMIT: Final = "its submit, which did not end yet or was interrupted"


def current_run(record: Record, seen: Observation, host: str, now: datetime) -> Run:
    """The run as it is now.

    Args:
        record: the run's, without a final status.
        seen: what there is of it, without its status.
        host: the cluster.
        now: the time.

    Raises:
        Unreadable: What the record has is no TrainJob.
    """
    declared = replace(record.declared(host), drift=seen.drift)
    if seen.jobset is None:
        if record.jobset_uid:
            return replace(declared, phase=LOST, reason=LOST, message=GONE)
        return replace(declared, waiting_for=UNFINISHED_SUBMIT, cause=str(Cause.SUBMIT))
    said = reports.by_pod(seen.pods, seen.lines)
    leading = view.leading_report(seen.jobset, seen.pods, said)
    # TrainJob.status as every driver decides it.
    known = {"trainerStatus": leading} if leading else {}
    observed = ObservedObjects(
        jobset=seen.jobset,
        snapshot=record.value,
        pods=tuple(map(reports.without_last_words, seen.pods)),
        jobs=seen.jobs,
    )
    delegation = Delegation(deadline=True, suspend=kueue_workload.is_resumed(seen.jobset))
    job = _train_job(record, known)
    decided = decide_status(
        TrainJobCase(job, observed, now, _behaviour(record.plugins), delegation)
    )
    return view.current_run(declared, replace(seen, status=decided, reports=said), now)


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
        raise unreadable_record(record.value, f"data.{names.RECORD_JOB_KEY}: {error}") from None


@lru_cache(maxsize=16)
def _behaviour(plugins: tuple[str, ...]) -> Behaviour:
    """What rendered the run; ours alone where its plugins are not installed here."""
    try:
        return Behaviour(plugin_registry.plugins_with(plugins))
    except InvalidInput:
        return OURS
