"""status.jobsStatus and the terminal conditions: what the JobSet says, as the TrainJob says it.

Rules: reference behaviour 4.7.
"""

from typing import Final

from trainer_infra import names
from trainer_infra.json_values import JSONObject
from trainer_infra.lifecycle import conditions
from trainer_infra.lifecycle.conditions import Conditions

TERMINAL: Final = (
    (names.JOBSET_COMPLETED, names.COMPLETE),
    (names.JOBSET_FAILED, names.FAILED),
)
FIELDS: Final = ("name", "ready", "succeeded", "failed", "active", "suspended")


def with_end_of_jobset(current: Conditions, jobset: JSONObject | None) -> Conditions:
    """The conditions with the JobSet's end copied; an end that is there already stays."""
    if conditions.is_finished(current):
        return current
    of_jobset = _status(jobset).get("conditions") or ()
    for theirs, ours in TERMINAL:
        found = conditions.find_condition(of_jobset, theirs)
        if found is not None and found["status"] == "True":
            return conditions.with_condition(current, {**found, "type": ours})
    return current


def jobs_status(jobset: JSONObject) -> list[JSONObject]:
    """One entry per replicated job with all six fields; none before the JobSet has any."""
    entries = _status(jobset).get("replicatedJobsStatus") or ()
    return [{field: entry.get(field, 0) for field in FIELDS} for entry in entries]


def _status(jobset: JSONObject | None) -> JSONObject:
    return (jobset or {}).get("status") or {}
