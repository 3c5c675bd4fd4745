"""spec.activeDeadlineSeconds: when a TrainJob has run for too long.

Rules: spec/trainer-behaviour.md section 4.8. The clock starts at creation and again at every
resume; a suspended or finished job has none.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from trainer_infra import names
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.lifecycle import conditions as of
from trainer_infra.lifecycle.conditions import Conditions

JSON = Mapping[str, Any]


def remaining(
    job: TrainJob, current: Conditions, jobset: JSON | None, now: datetime
) -> float | None:
    """Seconds until the deadline, negative once it has passed; None when there is none."""
    seconds = job.spec.active_deadline_seconds
    if not seconds or job.spec.suspend or of.finished(current):
        return None
    start = _start(job, current, jobset)
    if start is None:
        return None
    return (start + timedelta(seconds=seconds) - now).total_seconds()


def _start(job: TrainJob, current: Conditions, jobset: JSON | None) -> datetime | None:
    """The last resume, read from the TrainJob's or the JobSet's condition, else the creation."""
    of_jobset = ((jobset or {}).get("status") or {}).get("conditions") or ()
    for conditions in (current, of_jobset):
        suspended = of.find(conditions, names.SUSPENDED)
        if suspended is not None and suspended["status"] == "False":
            return of.moment(suspended["lastTransitionTime"])
    created = job.metadata.creation_timestamp
    return None if created is None else of.moment(created)
