"""Runtimes whose runs a scheduler starts together.

That takes the policy and the scheduler's name: with the policy alone, Kubernetes' own scheduler starts
pods one by one.
"""

from copy import deepcopy
from typing import Any

from trainer_infra.json_values import JSONObject


def gang_runtime(runtime: JSONObject, policy: str, scheduler: str) -> JSONObject:
    """A runtime in wire form, whose pods are a gang of a scheduler; what it says itself stays.

    Args:
        runtime: a runtime of either kind; one with another policy is left as it is.
        policy: the field of podGroupPolicy.
        scheduler: what its pods say in `schedulerName`.
    """
    made: dict[str, Any] = deepcopy(dict(runtime))
    if policy not in made["spec"].setdefault("podGroupPolicy", {policy: {}}):
        return runtime
    jobset = (made["spec"].get("template") or {}).get("spec") or {}
    for job in jobset.get("replicatedJobs") or ():
        pods = job["template"].setdefault("spec", {}).setdefault("template", {})
        pods.setdefault("spec", {}).setdefault("schedulerName", scheduler)
    return made
