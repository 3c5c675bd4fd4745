"""The shipped runtimes, as typed data. One file per runtime, named as the runtime is.

Facts: spec/trainer-behaviour.md section 8.1. `get` is what a TrainJob's runtime name is looked up
with.
"""

from typing import Final

from trainer_infra.api.runtime import ClusterTrainingRuntime
from trainer_infra.catalog import jax_distributed, torch_distributed
from trainer_infra.errors import InvalidInput, Problem

RUNTIMES: Final[tuple[ClusterTrainingRuntime, ...]] = (
    torch_distributed.RUNTIME,
    jax_distributed.RUNTIME,
)


def get(name: str) -> ClusterTrainingRuntime:
    """The shipped runtime of that name.

    Raises:
        InvalidInput: There is none; names those that there are.
    """
    for runtime in RUNTIMES:
        if runtime.metadata.name == name:
            return runtime
    known = ", ".join(str(runtime.metadata.name) for runtime in RUNTIMES)
    problem = Problem(
        "spec.runtimeRef.name",
        "names a runtime that is neither given nor in the catalog",
        got=name,
        fix=f"use one of {known}, or pass a TrainingRuntime",
    )
    raise InvalidInput([problem])
