"""Checkpoint: a run that saves its state before it ends has the time to, and loses no restart to who ends its pods.

Where a TrainJob has a checkpoint (`api.checkpoint`), its pods have the time that a save takes, and the pods of its
training restart together: those that were preempted, evicted or told to end (143) restart freely, and after other
failures they do so as often as a Job of Kubernetes replaces pods. Of a training that goes on with the nodes that there
are, the Job replaces each pod by itself, the same ones freely. A runtime with a time or policies of its own keeps them.
A controller without this plugin renders without them.
"""

from copy import deepcopy
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
    training_jobs,
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
    """The JobSet, with a time for its pods and policies for failures where it has none."""
    is_elastic = value["kind"] == names.JOBSET and _is_elastic(value["spec"])
    if value["kind"] != names.JOBSET or not (is_elastic or _has_checkpoint(job)):
        return value
    # A supervisor that starts builds no model.
    tolerance = FaultTolerance(
        max_restarts=MAX_RESTARTS,
        retry_exit_codes=(SIGKILL, SIGTERM),
        uncounted_exit_codes=(SIGTERM,),
        fail_fast_exit_codes=(),
    )
    policies = _pod_by_pod() if is_elastic else tolerance.policies()
    spec = deepcopy(dict(tolerant(value["spec"], policies)))
    seconds = checkpoint.save_seconds_said(checkpoint.said_of(_text(job) or ""))
    # The rule checkpoint-values says what is wrong with a variable that was damaged.
    if seconds is not None:
        for _, job_spec in training_jobs(spec):
            pod = job_spec["template"]["spec"]
            pod.setdefault(checkpoint.GRACE, seconds + checkpoint.MARGIN)
    return {**value, "spec": spec}


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
    return _text(job) is not None


def _text(job: TrainJob) -> str | None:
    env = (job.spec.trainer.env if job.spec.trainer else None) or ()
    found = (each for each in env if each["name"] == checkpoint.VARIABLE)
    return next((str(each.get("value") or "") for each in found), None)


PLUGIN = Plugin(name="Checkpoint", applies=applies, complete=complete)
