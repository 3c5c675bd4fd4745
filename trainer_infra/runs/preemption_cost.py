"""What a preemption costs a run at most, and how often saving pays. Pure.

Sources of the intervals: J. W. Young, "A first order approximation to the optimum checkpoint interval" (1974);
J. T. Daly, "A higher order estimate of the optimum checkpoint interval for restart dumps" (2006).
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from trainer_infra import names
from trainer_infra.api import checkpoint
from trainer_infra.errors import Problem
from trainer_infra.json_values import JSONObject
from trainer_infra.render import resolve, resources
from trainer_infra.render.launch_warnings import pod_count
from trainer_infra.runs.sentences import duration_shown, number_shown

FAR: Final = 3
"""How many times an interval is longer or shorter than the best one that is worth a word."""
_HOUR: Final = 3600


@dataclass(frozen=True, slots=True)
class PreemptionOutlook:
    """What is known of a run before its first preemption."""

    problems: tuple[Problem, ...] = ()
    """What contradicts its checkpoint."""
    warnings: tuple[str, ...] = ()
    """What may well be wrong."""
    remarks: tuple[str, ...] = ()
    """What a preemption costs, and how often saving pays."""


def said_of(variables: Mapping[str, Any]) -> JSONObject:
    """What a run's variables say of its checkpoint; empty without one."""
    try:
        said = json.loads(str(variables.get(checkpoint.VARIABLE) or "{}"))
    except ValueError:
        return {}
    return said if isinstance(said, Mapping) else {}


def of_job_set(job_set: JSONObject) -> tuple[str, str]:
    """What a preemption costs the run of a JobSet, and advice on its interval; each empty without a checkpoint."""
    every = job_set["spec"]["replicatedJobs"]
    # MPI's launcher is the step that trains, and its nodes have the accelerators.
    jobs = [each for each in every if each["name"] == names.NODE or resolve.trains(each)]
    containers = [resolve.node_container(resolve.pod_spec(each)) for each in jobs]
    env = [each for one in containers for each in one.get("env") or ()]
    said = said_of({each["name"]: each.get("value") for each in env})
    if not said:
        return "", ""
    nodes = sum(map(pod_count, (each for each in jobs if each["name"] != names.LAUNCHER)))
    devices = max(
        (resources.devices(each.get("resources") or {}) for each in containers), default=0
    )
    return cost_sentence(said, nodes, devices), interval_advice(said)


def cost_sentence(said: JSONObject, nodes: int, devices: int) -> str:
    """What a preemption loses at most, by what is said of the checkpoint; `devices` are those of one node."""
    seconds, steps = said.get("every_seconds"), said.get("every_steps")
    lost = (
        duration_shown(seconds) if seconds else f"{steps} steps" if steps else "all since the start"
    )
    of = f"{nodes} node{'s' * (nodes != 1)}"
    of += f" with {devices} GPU{'s' * (devices != 1)} each" if devices else ""
    if not said:
        return f"a preemption loses all since the start, on {of}: the run has no checkpoint"
    hours = number_shown(seconds * nodes * devices / _HOUR) if seconds and devices else ""
    price = f", {hours} GPU hours" if hours else ""
    if not said.get("on_preemption", True):
        return f"a preemption loses at most {lost} on {of}{price}"
    return f"a preemption loses one step where the run has the time to save, else at most {lost} on {of}{price}"


def interval_advice(said: JSONObject) -> str:
    """The interval that pays by the mean time between failures, and whether the run's is far from it.

    Empty where no such time is given.
    """
    between, save = said.get("mean_time_between_failures"), said.get("save_seconds")
    if not between or not save:
        return ""
    best = daly_interval(save, between)
    advice = (
        f"with {duration_shown(between)} between failures and {save} s for a save, the interval that costs least "
        f"is {duration_shown(young_interval(save, between))} by Young's formula, {duration_shown(best)} by Daly's"
    )
    seconds = said.get("every_seconds")
    if seconds and seconds > FAR * best:
        return f"{advice}; every={duration_shown(seconds)} loses more work than saving more often would cost"
    if seconds and seconds * FAR < best:
        return f"{advice}; every={duration_shown(seconds)} costs more in saves than it keeps"
    if not seconds and not said.get("every_steps"):
        return f"{advice}; without every= a failure that leaves no time to save loses all"
    return advice


def young_interval(save: float, between: float) -> float:
    """Seconds between two saves, by Young: a save takes `save` seconds, failures are `between` seconds apart."""
    return math.sqrt(2 * save * between)


def daly_interval(save: float, between: float) -> float:
    """Seconds between two saves, by Daly: the same for saves that are not short beside the time between failures."""
    if save >= 2 * between:
        return between
    share = save / (2 * between)
    return young_interval(save, between) * (1 + math.sqrt(share) / 3 + share / 9) - save
