"""How machines are bought: capacity type, reservation, and requests for a job's machines."""

from collections.abc import Iterator, Mapping
from typing import Final, get_args

from trainer_infra.errors import Problem
from trainer_infra.platform.pools.declaration import Declaration
from trainer_infra.platform.pools.pool_arguments import CapacityType
from trainer_infra.platform.pools.pool_flavor import QUEUED
from trainer_infra.words import did_you_mean

CLASSES: Final = (
    "check-capacity.autoscaling.x-k8s.io",
    "best-effort-atomic-scale-up.autoscaling.x-k8s.io",
    QUEUED,
)
"""Of ProvisioningRequests: those of the cluster autoscaler, and GKE's."""
_RESERVED: Final = ("reserved", "capacity-block")
_OFFERS: Final[Mapping[str, tuple[str, ...]]] = {
    "aks": ("on-demand", "spot", "reserved"),
    "cluster_api": ("on-demand", "spot", "reserved"),
    "eks": ("on-demand", "spot", "reserved", "capacity-block"),
    "existing": get_args(CapacityType),
    "gke": ("on-demand", "spot", "reserved", "flex-start"),
    "gke_compute_class": ("on-demand", "spot", "reserved", "flex-start"),
    "karpenter": ("on-demand", "spot", "reserved", "capacity-block"),
}
"""What a backend can buy."""


def problems_of_purchase(declared: Declaration) -> Iterator[Problem]:
    """Problems of capacity type, reservation and provisioning class."""
    args, kind = declared.args, declared.capacity_type
    if kind not in _OFFERS[declared.backend]:
        what = f"is nothing that backend {declared.backend} can buy"
        fix = f"use {', '.join(_OFFERS[declared.backend])}"
        yield Problem("capacity_type", what, got=kind, fix=fix)
    elif "reservation" in args and kind not in _RESERVED:
        what = f"is of machines that are reserved, and these are {kind}"
        fix = "say capacity_type='reserved', or leave the reservation out"
        yield Problem("reservation", what, got=args["reservation"], fix=fix)
    elif kind in _RESERVED and "reservation" not in args and declared.backend in {"eks", "gke"}:
        yield Problem("reservation", f"is missing, and machines are {kind}")
    if "max_run_duration" in args and kind != "flex-start" and "provisioning_class" not in args:
        what = f"is of machines that a cloud takes back, and these are {kind}"
        fix = "say capacity_type='flex-start', or leave it out"
        yield Problem("max_run_duration", what, got=args["max_run_duration"], fix=fix)
    yield from _provisioning_problems(declared)


def _provisioning_problems(declared: Declaration) -> Iterator[Problem]:
    wanted, backend = declared.args.get("provisioning_class"), declared.backend
    if wanted is None:
        return
    if wanted not in CLASSES:
        fix = did_you_mean(wanted, CLASSES)
        yield Problem(
            "provisioning_class", "is no class of ProvisioningRequests", got=wanted, fix=fix
        )
    if backend == "karpenter":
        what = "is nothing that Karpenter has (kubernetes-sigs/kueue#5133)"
        fix = "leave it out, or use a backend with the cluster autoscaler"
        yield Problem("provisioning_class", what, got=wanted, fix=fix)
    elif backend == "existing":
        what = "makes machines, and those of backend existing are there"
        yield Problem("provisioning_class", what, got=wanted, fix="leave it out")
    if not declared.queues:
        what = "is asked for by Kueue, and queueing is False"
        yield Problem("provisioning_class", what, got=wanted, fix="leave one of the two out")
    if wanted == QUEUED:
        yield from _queued_problems(declared)


def _queued_problems(declared: Declaration) -> Iterator[Problem]:
    """GKE's conditions of a pool with queued provisioning."""
    if declared.backend in {"aks", "cluster_api", "eks"}:
        what = "is a class of GKE"
        fix = f"use {CLASSES[0]} or {CLASSES[1]}"
        yield Problem("provisioning_class", what, got=QUEUED, fix=fix)
        return
    if declared.least > 0:
        key = "replicas" if declared.is_static else "min"
        what = "must be 0: GKE makes all machines of a pool with queued provisioning for one job"
        yield Problem(f"nodes.{key}", what, got=declared.least)
    if "reservation" in declared.args:
        what = "and queued provisioning exclude one another"
        yield Problem("reservation", what, got=declared.args["reservation"], fix="leave one out")
    if declared.backend == "gke" and "placement_policy" in declared.block("gke"):
        what = "and queued provisioning exclude one another"
        yield Problem("gke.placement_policy", what, fix="leave one out")
