"""The shipped runtimes, as typed data. One file per family of runtimes that are built alike.

Facts: reference behaviour 8.1. docs/catalog.md says what is ours and what the reference's.
"""

from typing import Final

from trainer_infra.api.runtime import ClusterTrainingRuntime
from trainer_infra.catalog import data_cache, hardening, initializers, mpi, one_job, torchtune
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


def get(name: str) -> ClusterTrainingRuntime:
    """The shipped runtime of that name.

    Raises:
        InvalidInput: There is none; names those that are most like it.
    """
    if found := find(name):
        return found
    problem = Problem(
        "spec.runtimeRef.name",
        "names a runtime that is neither given nor in the catalog",
        got=name,
        fix=f"{advice(name)}; or pass a TrainingRuntime",
    )
    raise InvalidInput([problem])


def find(name: str) -> ClusterTrainingRuntime | None:
    """The shipped runtime of that name, or the hardened variant of one; None where there is none."""
    found = shipped(name)
    return None if found is None else found.runtime()


def shipped(name: str) -> ShippedRuntime | None:
    """What the catalog holds under a name, or the hardened variant of it; None where there is none."""
    plain = name.removesuffix(hardening.SUFFIX)
    found = next((each for each in RUNTIMES if each.name == plain), None)
    return found if found is None or plain == name else hardening.variant(found)


def is_hardened(name: str) -> bool:
    """Whether a name is that of the hardened variant of a shipped runtime."""
    return name.endswith(hardening.SUFFIX) and shipped(name) is not None


def advice(name: str) -> str:
    """What to do about a name that the catalog does not have: it may be a part of one, or like one."""
    known = [each.name for each in RUNTIMES]
    holding = sorted((each for each in known if name and name in each), key=len)
    close, all_there_are = holding[:3] or nearest(name, known), "`trainer-infra catalog` lists all"
    return f"did you mean {' or '.join(close)}? {all_there_are}" if close else all_there_are
