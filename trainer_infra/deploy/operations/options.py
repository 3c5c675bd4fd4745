"""Options of a resource that makes runs: attempt, adopt, delete_timeout, outputs. Pure."""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from trainer_infra.api.input import is_stand_in
from trainer_infra.deploy.operations import targets
from trainer_infra.deploy.operations.declared_run import outputs_root
from trainer_infra.deploy.operations.properties import TrainJobProperties
from trainer_infra.deploy.operations.values import is_unknown
from trainer_infra.errors import Problem
from trainer_infra.json_values import JSONObject
from trainer_infra.trainers import kept_outputs, volume_address

OPTIONS: Final[tuple[tuple[str, str, Callable[[Any], bool], str], ...]] = (
    ("attempt", "attempt", lambda v: isinstance(v, int) and v >= 1, "must be a whole number from 1"),
    ("adopt", "adopt", lambda v: isinstance(v, bool), "must be true or false"),
    ("deleteTimeout", "delete_timeout", lambda v: isinstance(v, int | float) and 0 <= v < math.inf,
     "must be a number of seconds from 0"),
)  # fmt: skip
"""Options with their names in a program, what holds of each, and how that is said."""
_CACHE: Final = "stack configuration trainer:packages"


def option_problems(inputs: JSONObject) -> Iterator[Problem]:
    """Problems of the resource's own options."""
    for key, name, holds, what in OPTIONS:
        value = inputs.get(key)
        if value is not None and not is_unknown(value) and not holds(value):
            yield Problem(name, what, got=value)
    if "outputs" in inputs and not is_unknown(inputs["outputs"]):
        is_local = inputs["target"] == targets.LOCAL
        root = outputs_root(TrainJobProperties(inputs))
        yield from kept_outputs.output_problems(inputs["outputs"], root, with_folders=is_local)
    if is_unknown(inputs):
        # Where all is known, what is rendered is judged.
        job = TrainJobProperties(inputs)
        trainer = None if is_stand_in(job.spec) else job.spec.get("trainer")
        if isinstance(trainer, Mapping) and isinstance(job.outputs, Mapping):
            code = None if is_unknown(job.json.get("code")) else job.code
            yield from kept_outputs.missing_outputs({"spec": job.spec}, code, job.outputs)
    cache = inputs.get("packagesAt")
    if cache is not None and inputs["target"] != targets.LOCAL:
        yield from volume_address.address_problems(_CACHE, cache)


def named_once(problems: Iterable[Problem], inputs: JSONObject) -> tuple[Problem, ...]:
    """The problems without the name of the resource, which the engine says before each."""
    name = inputs.get("name") or inputs.get("resource")
    own = re.compile(rf"(TrainJob|runtime) {re.escape(str(name))}(-[0-9a-f]{{8}})?")
    return tuple(
        replace(each, where="") if own.fullmatch(each.where) else each for each in problems
    )
