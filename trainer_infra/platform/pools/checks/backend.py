"""The backend: its block of arguments, what it cannot do, and what a cloud's own pools need."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from trainer_infra.errors import Problem
from trainer_infra.platform.argument_types import type_problems
from trainer_infra.platform.pools import aks
from trainer_infra.platform.pools.cluster_api import NODE_DOMAINS
from trainer_infra.platform.pools.declaration import GKE_FABRICS, Declaration
from trainer_infra.platform.pools.pool_arguments import (
    AksArgs,
    ClusterApiArgs,
    ComputeClassArgs,
    EksArgs,
    GkeArgs,
    KarpenterArgs,
)

_AKS_NAME: Final = re.compile(r"[a-z][a-z0-9]{0,11}")
_UNEVEN_CARDS: Final = "p6-b300.48xlarge"
"""Its first network card has no EFA, so its template is not like the others."""
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


def problems_of_backend(declared: Declaration) -> Iterator[Problem]:
    """Problems of the backend."""
    args, backend = declared.args, declared.backend
    for block in _BLOCKS:
        if block in args and block != backend:
            what = f"belongs to another backend; this pool's backend is {backend}"
            yield Problem(block, what, fix=f"leave it out, or say backend={block!r}")
    if backend in _BLOCKS and backend not in args:
        yield from type_problems({}, _BLOCKS[backend], (backend,))
    if backend in FACTORIES and "factory" not in args:
        what = f"is missing: {backend} has a package of its own"
        fix = "pass factory=, a function that makes the cloud's resources (docs/gpu-node-pools.md)"
        yield Problem("factory", what, fix=fix)
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


def problems_of_cloud_pool(declared: Declaration) -> Iterator[Problem]:
    """Problems of the backends gke, eks, aks and cluster_api."""
    backend, fitting = declared.backend, [each.name for each in declared.machines]
    if backend in FACTORIES and "machine_type" not in declared.args and len(fitting) != 1:
        fix = f"say one of {', '.join(fitting)}" if fitting else ""
        what = f"is missing: backend {backend} makes machines of one type"
        yield Problem("machine_type", what, fix=fix)
    if backend in _OF_CLOUD_POOLS:
        yield from _OF_CLOUD_POOLS[backend](declared)


def _gke_problems(declared: Declaration) -> Iterator[Problem]:
    zones, fabric = declared.args.get("zones", ()), declared.fabric
    if declared.is_static and len(zones) != 1:
        what = "must be one zone: GKE counts nodes.replicas in each zone"
        yield Problem("zones", what, got=list(zones) or None)
    networks = declared.block("gke").get("networks", ())
    if fabric is not None and fabric.name in GKE_FABRICS and len(networks) != fabric.interfaces:
        what = f"must be {fabric.interfaces}, one for each interface of {fabric.name}"
        yield Problem("gke.networks", what, got=len(networks))


def _eks_problems(declared: Declaration) -> Iterator[Problem]:
    block, fabric = declared.block("eks"), declared.fabric
    has_efa = fabric is not None and fabric.name == "efa"
    subnets = block.get("subnets", ())
    if has_efa and isinstance(subnets, list | tuple) and len(subnets) > 1:
        what = "are more than one, and EFA reaches no other zone"
        yield Problem("eks.subnets", what, got=len(subnets), fix="write one subnet")
    if has_efa and not block.get("security_groups") and "network_interfaces" not in block:
        what = "is missing: EFA needs a group that lets all traffic of its own members in and out"
        yield Problem("eks.security_groups", what)
    uneven = any(each.name == _UNEVEN_CARDS for each in declared.machines)
    if has_efa and uneven and "network_interfaces" not in block:
        what = f"is missing: the first card of {_UNEVEN_CARDS} has no EFA, and is written by you"
        yield Problem("eks.network_interfaces", what)
    if "placement_group" in block and "reservation" in declared.args:
        what = "and reservation exclude one another: AWS starts part of the machines"
        yield Problem("eks.placement_group", what, fix="leave one of the two out")


def _aks_problems(declared: Declaration) -> Iterator[Problem]:
    if not _AKS_NAME.fullmatch(declared.name):
        what = (
            "its name must be 1 to 12 of a-z and 0-9, and begin with a letter: AKS takes no other"
        )
        yield Problem("", what, got=declared.name)
    if "reservation" in declared.args:
        what = "is not supported by AKS"
        fix = "say aks.capacity_reservation_group"
        yield Problem("reservation", what, got=declared.args["reservation"], fix=fix)
    reserved = declared.capacity_type == "reserved"
    if reserved != ("capacity_reservation_group" in declared.block("aks")):
        what = "and capacity_type='reserved' belong together"
        yield Problem("aks.capacity_reservation_group", what)
    for key in declared.args.get("labels", {}):
        if key.startswith(aks.OWN_DOMAIN):
            yield Problem(f"labels.{key}", "is in a domain that AKS lets no one set")


def _cluster_api_problems(declared: Declaration) -> Iterator[Problem]:
    for key in declared.args.get("labels", {}):
        domain = key.rpartition("/")[0]
        if not any(domain == each or domain.endswith(f".{each}") for each in NODE_DOMAINS):
            what = "is a label that Cluster API does not copy to nodes"
            yield Problem(f"labels.{key}", what, fix=f"use a label of {' or '.join(NODE_DOMAINS)}")
    block = declared.block("cluster_api")
    for part in ("infrastructure", "bootstrap"):
        for field in ("apiGroup", "kind", "name") if part in block else ():
            if field not in block[part]:
                yield Problem(f"cluster_api.{part}.{field}", "is missing")
    zones = declared.args.get("zones", ())
    if block.get("kind", "MachineDeployment") == "MachineDeployment" and len(zones) > 1:
        what = "are more than one, and a MachineDeployment is in one"
        yield Problem("zones", what, got=list(zones), fix="write one zone, or kind MachinePool")


_OF_CLOUD_POOLS: Final[Mapping[str, Callable[[Declaration], Iterator[Problem]]]] = {
    "aks": _aks_problems,
    "cluster_api": _cluster_api_problems,
    "eks": _eks_problems,
    "gke": _gke_problems,
}
