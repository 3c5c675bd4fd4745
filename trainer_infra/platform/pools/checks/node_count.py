"""How many machines there are."""

from collections.abc import Iterator, Mapping
from typing import cast

from trainer_infra.errors import Problem
from trainer_infra.platform.pools.declaration import Declaration


def problems_of_count(declared: Declaration) -> Iterator[Problem]:
    """Problems of `nodes`."""
    nodes = cast("Mapping[str, int]", declared.nodes)
    negative = {key: each for key, each in nodes.items() if each < 0}
    for key, each in negative.items():
        yield Problem(f"nodes.{key}", "must not be negative", got=each)
    if negative:
        return
    if "max" not in nodes and "replicas" not in nodes:
        what = "is missing: quotas, limits and policy follow from it"
        yield Problem("nodes.max", what, fix="say the most machines that there are")
        return
    if "replicas" in nodes and "min" in nodes:
        what = "and nodes.replicas exclude one another: a fixed number has no least"
        yield Problem("nodes.min", what, got=nodes["min"], fix="leave it out")
    elif declared.least > declared.most:
        key = "replicas" if declared.is_static else "min"
        what = f"is more than nodes.max, which is {declared.most}"
        yield Problem(f"nodes.{key}", what, got=declared.least)
    yield from _backend_problems(declared)


def _backend_problems(declared: Declaration) -> Iterator[Problem]:
    nodes, backend = declared.nodes, declared.backend
    if backend == "karpenter" and nodes.get("min", 0) > 0 and not declared.is_static:
        what = "is nothing that Karpenter keeps"
        fix = "say nodes.replicas for a fixed number, or leave it out"
        yield Problem("nodes.min", what, got=nodes["min"], fix=fix)
    if backend == "gke_compute_class" and (declared.is_static or nodes.get("min", 0) > 0):
        key = "replicas" if declared.is_static else "min"
        what = "is nothing that a ComputeClass keeps: GKE makes machines for pods that wait"
        yield Problem(
            f"nodes.{key}", what, got=declared.least, fix="leave it out, or use backend gke"
        )
