"""Checkpoint: a run that saves its state before it ends loses no restart to who ends its pods.

Where a TrainJob has a checkpoint (`api.checkpoint`), the pods of its training restart together, and those that were
preempted, evicted or told to end (143) restart freely; other failures do so as often as a Job of Kubernetes replaces
pods. Of a training that goes on with the nodes that there are, the Job replaces each pod by itself, the same ones freely.
A runtime with policies of its own keeps them. A controller without this plugin renders without them.
"""

from typing import Final

from trainer_infra import names
from trainer_infra.api import checkpoint, failure_policy
from trainer_infra.api.failure_policy import (
    OnExitCodes,
    OnPodCondition,
    PodFailurePolicy,
    PodFailurePolicyRule,
)
from trainer_infra.api.fault_tolerance import (
    SIGKILL,
    SIGTERM,
    FaultTolerance,
    Policies,
    tolerant,
)
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.json_values import JSONObject
from trainer_infra.render import resolve
from trainer_infra.render.command_lines.node_counts import elastic_nodes
from trainer_infra.render.command_lines.program import read_command_line
from trainer_infra.render.command_lines.references import ContainerVariables
from trainer_infra.render.draft import Draft
from trainer_infra.render.phases import Plugin

MAX_RESTARTS: Final = 6
"""That is `backoffLimit` of a Job that says none (Kubernetes 1.34)."""


def applies(draft: Draft) -> bool:
    """Whether the TrainJob has a checkpoint."""
    return _has_checkpoint(draft.job)


def complete(value: JSONObject, job: TrainJob) -> JSONObject:
    """The JobSet, with policies for failures where it has none."""
    if value["kind"] != names.JOBSET:
        return value
    if _is_elastic(value["spec"]):
        return {**value, "spec": tolerant(value["spec"], _pod_by_pod())}
    if not _has_checkpoint(job):
        return value
    # A supervisor that starts builds no model.
    tolerance = FaultTolerance(
        max_restarts=MAX_RESTARTS,
        retry_exit_codes=(SIGKILL, SIGTERM),
        uncounted_exit_codes=(SIGTERM,),
        fail_fast_exit_codes=(),
    )
    return {**value, "spec": tolerant(value["spec"], tolerance.policies())}


def _is_elastic(spec: JSONObject) -> bool:
    """Whether a JobSet trains with the nodes that there are."""
    for _, container in resolve.trainer_containers(spec):
        words = [*(container.get("command") or ()), *(container.get("args") or ())]
        if any("nnodes" in each for each in words):
            values = {each["name"]: each.get("value") for each in container.get("env") or ()}
            line = read_command_line(words, ContainerVariables(values))
            return elastic_nodes(line, values) is not None
    return False


def _pod_by_pod() -> Policies:
    """Those by which a Job replaces its pods, and the others go on.

    It is complete with its first pod: torchrun ends there when it has on all nodes that there are, and a pod that comes
    later finds no other.
    """
    taken_away = (
        {"on_pod_conditions": (OnPodCondition(type=failure_policy.DISRUPTION_TARGET),)},
        {"on_exit_codes": OnExitCodes(values=(SIGTERM,), container_name=names.NODE)},
    )
    rules = tuple(PodFailurePolicyRule(action="Ignore", **each) for each in taken_away)
    failure = PodFailurePolicy(rules=rules)
    return Policies(pod_failure=failure, backoff_limit=MAX_RESTARTS, succeeded_indexes="0")


def _has_checkpoint(job: TrainJob) -> bool:
    env = (job.spec.trainer.env if job.spec.trainer else None) or ()
    return any(each["name"] == checkpoint.VARIABLE for each in env)


PLUGIN = Plugin(name="Checkpoint", applies=applies, complete=complete)
