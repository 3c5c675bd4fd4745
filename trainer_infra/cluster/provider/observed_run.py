"""A run of engine `provider` as it is now, from its record and what was observed. Pure.

No TrainJob is stored, so its status is decided here, as `lifecycle.status` decides it for every
driver; the deadline is its Jobs' to keep (`Delegation`).
"""

from dataclasses import replace
from datetime import datetime
from typing import Final

from trainer_infra import names
from trainer_infra.cluster import decided_status
from trainer_infra.cluster.provider import record as run_record
from trainer_infra.cluster.run_record import Record
from trainer_infra.errors import Unreadable
from trainer_infra.lifecycle.status import Delegation
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
    delegation = Delegation(deadline=True, suspend=kueue_workload.is_resumed(seen.jobset))
    seen = replace(seen, reports=reports.by_pod(seen.pods, seen.lines))
    try:
        decided = decided_status.decided_status(record, seen, delegation, now)
    except Unreadable as error:
        where = f"data.{names.RECORD_JOB_KEY}"
        raise run_record.unreadable_record(record.value, f"{where}: {error}") from None
    return view.current_run(declared, replace(seen, status=decided), now)
