"""status.jobsStatus and the terminal conditions: what the JobSet says, as the TrainJob says it.

Rules: reference behaviour 4.7.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from trainer_infra import names
from trainer_infra.json_values import JSONObject
from trainer_infra.lifecycle import conditions
from trainer_infra.lifecycle.conditions import Conditions


@dataclass(frozen=True, slots=True)
class FailedJob:
    """The Failed condition of one Job: what is known of a failure that no pod shows."""

    job: str
    """Name of the Job."""
    reason: str
    message: str

    @property
    def is_late(self) -> bool:
        """Whether the Job ran into a deadline."""
        return self.reason == names.DEADLINE_EXCEEDED

    def sentence(self) -> str:
        """One clause for a condition."""
        return f"Job {self.job}: {self.message} ({self.reason})"


TERMINAL: Final = ((names.JOBSET_COMPLETED, names.COMPLETE), (names.JOBSET_FAILED, names.FAILED))
FIELDS: Final = ("name", "ready", "succeeded", "failed", "active", "suspended")


def with_end_of_jobset(current: Conditions, jobset: JSONObject | None) -> Conditions:
    """The conditions with the JobSet's end copied; an end that is there already stays."""
    if conditions.is_finished(current):
        return current
    of_jobset = _status(jobset).get("conditions") or ()
    for theirs, ours in TERMINAL:
        if found := conditions.true_condition(of_jobset, theirs):
            return conditions.with_condition(current, {**found, "type": ours})
    return current


def jobs_status(jobset: JSONObject) -> list[JSONObject]:
    """One entry per replicated job with all six fields; none before the JobSet has any."""
    entries = _status(jobset).get("replicatedJobsStatus") or ()
    return [{field: entry.get(field, 0) for field in FIELDS} for entry in entries]


def _status(jobset: JSONObject | None) -> JSONObject:
    return (jobset or {}).get("status") or {}


def first_failed_job(jobs: Iterable[JSONObject]) -> FailedJob | None:
    """The first Job that failed; None when none did."""
    for job in jobs:
        current = (job.get("status") or {}).get("conditions") or ()
        if failed := conditions.true_condition(current, names.FAILED):
            return FailedJob(job["metadata"]["name"], failed["reason"], failed["message"])
    return None
