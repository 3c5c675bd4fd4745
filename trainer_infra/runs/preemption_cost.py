"""What a preemption costs a run at most, and how often saving pays. Pure.

Sources of the intervals: J. W. Young, "A first order approximation to the optimum checkpoint interval" (1974);
J. T. Daly, "A higher order estimate of the optimum checkpoint interval for restart dumps" (2006).
"""

import math
from typing import Final

from trainer_infra.api import checkpoint
from trainer_infra.render import resources
from trainer_infra.runs.sentences import duration_shown, number_shown
from trainer_infra.runs.settings import RunSettings

_FAR: Final = 3
"""How many times an interval is longer or shorter than the best one that is worth a word."""
_HOUR: Final = 3600


def cost_sentence(settings: RunSettings) -> str:
    """What a preemption loses at most: steps or time, on so many nodes and GPUs."""
    said = checkpoint.said_of(settings.env.get(checkpoint.VARIABLE, "")) or {}
    seconds, steps = said.get("every_seconds"), said.get("every_steps")
    lost = (
        duration_shown(seconds) if seconds else f"{steps} steps" if steps else "all since the start"
    )
    nodes, devices = settings.nodes or 1, resources.devices({"limits": settings.resources})
    of = f"{nodes} node{'s' * (nodes != 1)}"
    of += f" with {devices} GPU{'s' * (devices != 1)} each" if devices else ""
    if seconds and devices:
        of += f", {number_shown(seconds * nodes * devices / _HOUR)} GPU hours"
    if not said:
        return f"a preemption loses all since the start, on {of}: the run has no checkpoint"
    saves = (
        "one step where the run has the time to save, else "
        if said.get("on_preemption", True)
        else ""
    )
    return f"a preemption loses {saves}at most {lost} on {of}"


def interval_advice(settings: RunSettings) -> str:
    """The interval that pays by the mean time between failures, where that is given, and whether the run's is far off."""
    said = checkpoint.said_of(settings.env.get(checkpoint.VARIABLE, "")) or {}
    save, seconds = said.get("save_seconds", checkpoint.SAVE_SECONDS), said.get("every_seconds")
    between = checkpoint.seconds_of(said.get("mean_time_between_failures"))
    if between is None:
        return ""
    best = daly_interval(save, between)
    advice = (
        f"with {duration_shown(between)} between failures and {save} s for a save, the interval that costs least "
        f"is {duration_shown(young_interval(save, between))} by Young's formula, {duration_shown(best)} by Daly's"
    )
    if seconds and seconds > _FAR * best:
        return f"{advice}; every={duration_shown(seconds)} loses more work than saving more often would cost"
    if seconds and seconds * _FAR < best:
        return f"{advice}; every={duration_shown(seconds)} costs more in saves than it keeps"
    return advice


def young_interval(save: float, between: float) -> float:
    """Seconds between two saves, by Young: a save takes `save` seconds, failures are `between` seconds apart."""
    return math.sqrt(2 * save * between)


def daly_interval(save: float, between: float) -> float:
    """Seconds between two saves, by Daly: the same for saves that are not short beside the time between failures."""
    share = save / (2 * between)
    best = young_interval(save, between) * (1 + math.sqrt(share) / 3 + share / 9) - save
    return best if share < 1 else between
