"""The backend, its block of arguments, and what it cannot do."""

from collections.abc import Iterator, Mapping
from typing import Final

from trainer_infra.errors import Problem
from trainer_infra.platform.argument_types import type_problems
from trainer_infra.platform.pools.declaration import Declaration
from trainer_infra.platform.pools.pool_arguments import (
    AksArgs,
    ClusterApiArgs,
    ComputeClassArgs,
    EksArgs,
    GkeArgs,
    KarpenterArgs,
)

FACTORIES: Final = ("aks", "eks", "gke")
"""Backends whose resources are those of a cloud's own package, so that the program makes them."""
_BLOCKS: Final[Mapping[str, type]] = {
    "karpenter": KarpenterArgs,
    "gke_compute_class": ComputeClassArgs,
    "cluster_api": ClusterApiArgs,
    "gke": GkeArgs,
    "eks": EksArgs,
    "aks": AksArgs,
}
"""Arguments that are those of one backend."""
_FACTORY_FIX: Final = (
    "pass factory=, a function that makes the cloud's resources (docs/gpu-node-pools.md)"
)


def problems_of_backend(declared: Declaration) -> Iterator[Problem]:
    """Problems of the backend."""
    args, backend = declared.args, declared.backend
    for block in _BLOCKS:
        if block in args and block != backend:
            what = f"is of another backend than this pool's, which is {backend}"
            yield Problem(block, what, fix=f"leave it out, or say backend={block!r}")
    if backend in _BLOCKS and backend not in args:
        yield from type_problems({}, _BLOCKS[backend], (backend,))
    if backend in FACTORIES and "factory" not in args:
        yield Problem(
            "factory", f"is missing: {backend} has a package of its own", fix=_FACTORY_FIX
        )
    if backend not in FACTORIES and "factory" in args:
        yield Problem("factory", f"is of {', '.join(FACTORIES)}; {backend} calls none")
    yield from _disruption_problems(declared)


def _disruption_problems(declared: Declaration) -> Iterator[Problem]:
    block = declared.block("karpenter") if declared.backend == "karpenter" else {}
    if "termination_grace_period" in block and block.get("do_not_disrupt", True):
        what = "lets Karpenter take machines from training pods that forbid it"
        fix = "leave it out, or say do_not_disrupt=False"
        got = block["termination_grace_period"]
        yield Problem("karpenter.termination_grace_period", what, got=got, fix=fix)
    weight = block.get("weight")
    if weight is not None and declared.is_static:
        what = "orders pools that follow demand; this one has a fixed number of machines"
        yield Problem("karpenter.weight", what, got=weight, fix="leave it out, or nodes.replicas")
    if isinstance(weight, int) and not 1 <= weight <= 100:  # noqa: PLR2004  Karpenter's limit
        yield Problem("karpenter.weight", "must be 1 to 100", got=weight)
