"""The TTL of a finished TrainJob, by our own annotation: when it is deleted.

Called by `plan`. The seconds are read by `render.ttl_seconds_after_finished`; they count from the
condition that ended the job. The reference has no such thing.
"""

from datetime import datetime, timedelta

from trainer_infra import names
from trainer_infra.lifecycle import conditions
from trainer_infra.lifecycle.conditions import Conditions


def seconds_until_ttl(seconds: int | None, current: Conditions, now: datetime) -> float | None:
    """Seconds until the TrainJob is deleted, 0 or negative when that is due; None for never."""
    ends = (conditions.find_condition(current, kind) for kind in (names.COMPLETE, names.FAILED))
    end = next((each for each in ends if each is not None and each["status"] == "True"), None)
    if seconds is None or end is None:
        return None
    ended = conditions.parse_timestamp(end["lastTransitionTime"])
    return (ended + timedelta(seconds=seconds) - now).total_seconds()
