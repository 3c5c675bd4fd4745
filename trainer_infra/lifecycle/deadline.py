"""spec.activeDeadlineSeconds: when a TrainJob has run for too long.

Rules: reference behaviour 4.8. The clock starts at creation and again at every
resume; a suspended or finished job has none. The reference reads the resume from the TrainJob's
own condition, which ours removes (suspend.py), so ours reads the JobSet's.
"""

from datetime import datetime, timedelta

from trainer_infra import names
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.json_values import JSONObject
from trainer_infra.lifecycle import conditions as status_conditions
from trainer_infra.lifecycle.conditions import Conditions


def seconds_remaining(
    job: TrainJob,
    current: Conditions,
    jobset: JSONObject | None,
    now: datetime,
    *,
    by_own_condition: bool = False,
) -> float | None:
    """Seconds until the deadline, negative once it has passed; None when there is none.

    With `by_own_condition` a resume is what the TrainJob's own conditions say, as in the reference.
    """
    seconds = job.spec.active_deadline_seconds
    if not seconds or job.spec.suspend or status_conditions.is_finished(current):
        return None
    start = _resumed(current) if by_own_condition else _resumed_jobset(jobset, now)
    created = job.metadata.creation_timestamp
    if start is None and created is not None:
        start = status_conditions.parse_timestamp(created)
    return None if start is None else (start + timedelta(seconds=seconds) - now).total_seconds()


def deadline_message(seconds: int) -> str:
    """What the Failed condition says of a deadline that passed."""
    return f"{names.DEADLINE_MESSAGE} of {seconds} s"


def _resumed(conditions: Conditions) -> datetime | None:
    """When what these conditions are about was resumed; None when it never was."""
    suspended = status_conditions.find_condition(conditions, names.SUSPENDED)
    if suspended is None or suspended["status"] != "False":
        return None
    return status_conditions.parse_timestamp(suspended["lastTransitionTime"])


def _resumed_jobset(jobset: JSONObject | None, now: datetime) -> datetime | None:
    """When the JobSet was resumed; now while it is still held."""
    found = jobset or {}
    conditions = (found.get("status") or {}).get("conditions") or ()
    if (found.get("spec") or {}).get("suspend") or status_conditions.is_true(
        conditions, names.JOBSET_SUSPENDED
    ):
        return now
    return _resumed(conditions)
