"""spec.suspend: the Suspended condition. Rules: reference behaviour 4.6.

The reference leaves Suspended=False on a resumed job. The published SDK takes any condition for
"not running" and would report such a job as Created to its end, so ours removes the entry
(design "Compatibility"); the deadline reads the JobSet's own condition instead.
"""

from datetime import datetime

from trainer_infra import names
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.lifecycle import conditions
from trainer_infra.lifecycle.conditions import Conditions


def with_suspended(
    job: TrainJob, current: Conditions, now: datetime, *, keeps_entry: bool = False
) -> Conditions:
    """The conditions with the Suspended one as spec.suspend has it.

    With `keeps_entry` a resume leaves it as False, as in the reference.
    """
    if job.spec.suspend:
        new = conditions.new_condition(
            names.SUSPENDED, names.SUSPENDED, names.SUSPENDED_MESSAGE, now
        )
        return conditions.with_condition(current, new)
    if not conditions.is_true(current, names.SUSPENDED):
        return current
    if keeps_entry:
        new = conditions.new_condition(
            names.SUSPENDED, names.RESUMED, names.RESUMED_MESSAGE, now, status=False
        )
        return conditions.with_condition(current, new)
    return conditions.without_condition(current, names.SUSPENDED)
