"""The shipped runtimes, as typed data. One file per family of runtimes that are built alike.

Facts: reference behaviour 8.1. `get` is what a TrainJob's runtime name is looked up
with; `trainer-infra catalog` prints what is here. docs/catalog.md says what is ours and what the
reference's.
"""

from collections.abc import Sequence
from typing import Final

from trainer_infra.api.runtime import ClusterTrainingRuntime
from trainer_infra.catalog import data_cache, initializers, mpi, one_job, torchtune
from trainer_infra.catalog.shipped_runtime import ShippedRuntime
from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.words import nearest

RUNTIMES: Final[tuple[ShippedRuntime, ...]] = (
    one_job.TORCH_DISTRIBUTED,
    one_job.JAX_DISTRIBUTED,
    one_job.XGBOOST_DISTRIBUTED,
    mpi.DEEPSPEED_DISTRIBUTED,
    mpi.MLX_DISTRIBUTED,
    torchtune.LLAMA_3_2_1B,
    torchtune.LLAMA_3_2_3B,
    torchtune.QWEN_2_5_1_5B,
    data_cache.TORCH_DISTRIBUTED_WITH_CACHE,
    one_job.PLAIN_DISTRIBUTED,
    one_job.FLUX_DISTRIBUTED,
    torchtune.LLAMA_3_3_70B,
    initializers.TORCH_DISTRIBUTED_WITH_INITIALIZERS,
)
"""All there is: the nine of the reference, then ours."""

_LIST: Final = "`trainer-infra catalog` lists all"


def get(name: str) -> ClusterTrainingRuntime:
    """The shipped runtime of that name.

    Raises:
        InvalidInput: There is none; names those that are most like it.
    """
    for each in RUNTIMES:
        if each.name == name:
            return each.runtime()
    problem = Problem(
        "spec.runtimeRef.name",
        "names a runtime that is neither given nor in the catalog",
        got=name,
        fix=f"{advice(name)}; or pass a TrainingRuntime",
    )
    raise InvalidInput([problem])


def advice(name: str) -> str:
    """What to do about a name that the catalog does not have."""
    close = near(name)
    return f"did you mean {' or '.join(close)}? {_LIST}" if close else _LIST


def near(name: str) -> Sequence[str]:
    """At most three names of the catalog: those with the given one in them, else those like it."""
    known = [each.name for each in RUNTIMES]
    holding = sorted((each for each in known if name and name in each), key=len)
    return holding[:3] or nearest(name, known)
