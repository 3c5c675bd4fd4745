"""status.jobsStatus and the terminal conditions: what the JobSet says, as the TrainJob says it.

Rules: reference behaviour 4.7.
"""

from collections.abc import Mapping
from typing import Any, Final

from trainer_infra import names
from trainer_infra.lifecycle import conditions as of
from trainer_infra.lifecycle.conditions import Conditions

JSON = Mapping[str, Any]

TERMINAL: Final = (
    (names.JOBSET_COMPLETED, names.COMPLETE),
    (names.JOBSET_FAILED, names.FAILED),
)
FIELDS: Final = ("name", "ready", "succeeded", "failed", "active", "suspended")


def with_end_of_jobset(current: Conditions, jobset: JSON | None) -> Conditions:
    """The conditions with the JobSet's end copied; an end that is there already stays."""
    if of.is_finished(current):
        return current
    of_jobset = _status(jobset).get("conditions") or ()
    for theirs, ours in TERMINAL:
        found = of.find_condition(of_jobset, theirs)
        if found is not None and found["status"] == "True":
            return of.with_condition(current, {**found, "type": ours})
    return current


def jobs_status(jobset: JSON) -> list[JSON]:
    """One entry per replicated job with all six fields; none before the JobSet has any."""
    entries = _status(jobset).get("replicatedJobsStatus") or ()
    return [{field: entry.get(field, 0) for field in FIELDS} for entry in entries]


def _status(jobset: JSON | None) -> JSON:
    return (jobset or {}).get("status") or {}
