"""Checkpoint: a run that saves its state before it ends loses no restart to who ends its pods.

Where a TrainJob has a checkpoint (`api.checkpoint`), the pods of its training restart together, and those that were
preempted, evicted or told to end (143) restart freely; other failures do so as often as a Job of Kubernetes replaces
pods. A runtime with policies of its own keeps them. A controller without this plugin renders without them.
"""

from typing import Final

from trainer_infra import names
from trainer_infra.api import checkpoint
from trainer_infra.api.fault_tolerance import SIGKILL, SIGTERM, FaultTolerance, tolerant
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.json_values import JSONObject
from trainer_infra.render.draft import Draft
from trainer_infra.render.phases import Plugin

MAX_RESTARTS: Final = 6
"""That is `backoffLimit` of a Job that says none (Kubernetes 1.34)."""


def applies(draft: Draft) -> bool:
    """Whether the TrainJob has a checkpoint."""
    return _has_checkpoint(draft.job)


def complete(value: JSONObject, job: TrainJob) -> JSONObject:
    """The JobSet, with policies for failures where it has none."""
    if value["kind"] != names.JOBSET or not _has_checkpoint(job):
        return value
    # A supervisor that starts builds no model.
    tolerance = FaultTolerance(
        max_restarts=MAX_RESTARTS,
        retry_exit_codes=(SIGKILL, SIGTERM),
        uncounted_exit_codes=(SIGTERM,),
        fail_fast_exit_codes=(),
    )
    return {**value, "spec": tolerant(value["spec"], tolerance)}


def _has_checkpoint(job: TrainJob) -> bool:
    env = (job.spec.trainer.env if job.spec.trainer else None) or ()
    return any(each["name"] == checkpoint.VARIABLE for each in env)


PLUGIN = Plugin(name="Checkpoint", applies=applies, complete=complete)
