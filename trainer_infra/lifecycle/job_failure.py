"""Why a Job failed, in its own condition: what is known of a failure that no pod shows."""

from collections.abc import Iterable
from dataclasses import dataclass

from trainer_infra import names
from trainer_infra.json_values import JSONObject
from trainer_infra.lifecycle import conditions


@dataclass(frozen=True, slots=True)
class FailedJob:
    """The Failed condition of one Job."""

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


def first_failed_job(jobs: Iterable[JSONObject]) -> FailedJob | None:
    """The first Job that failed; None when none did."""
    for job in jobs:
        current = (job.get("status") or {}).get("conditions") or ()
        failed = conditions.find_condition(current, names.FAILED)
        if failed is not None and failed["status"] == "True":
            return FailedJob(job["metadata"]["name"], failed["reason"], failed["message"])
    return None
