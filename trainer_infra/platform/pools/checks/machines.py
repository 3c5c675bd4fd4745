"""The machines of a pool: kind, number, fabric, and how they are bought."""

from collections.abc import Iterator, Mapping
from typing import Final, cast, get_args

from trainer_infra.api import quantity
from trainer_infra.catalog.accelerators import ACCELERATORS
from trainer_infra.catalog.machine_types import MachineType, find_machine_type, near_machine_types
from trainer_infra.errors import Problem
from trainer_infra.platform.pools.declaration import GKE_FABRICS, Declaration
from trainer_infra.platform.pools.pool_arguments import CapacityType
from trainer_infra.platform.pools.pool_spec import QUEUED
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
_OWN: Final = "or say yourself what a machine has: capacity="


def problems_of_machine(declared: Declaration) -> Iterator[Problem]:
    """Problems of the machines' kind."""
    args = declared.args
    if "accelerator" not in args and "machine_type" not in args:
        yield Problem("accelerator", "is missing", fix="say accelerator= or machine_type=")
    yield from _unknown_names(declared)
    yield from _contradictions(declared)
    if declared.gpus is None and "machine_type" not in args:
        what = "is missing, and there is no machine type to take it from"
        yield Problem("gpus_per_node", what)
    if declared.gpus is not None and declared.gpus < 1:
        yield Problem("gpus_per_node", "must be at least 1", got=declared.gpus)
    for resource, amount in args.get("capacity", {}).items():
        try:
            quantity.parse_quantity(amount)
        except ValueError as error:
            yield Problem(f"capacity.{resource}", str(error))


def _unknown_names(declared: Declaration) -> Iterator[Problem]:
    """What the catalog does not know is taken where the program says what a machine has."""
    args = declared.args
    if declared.resource in args.get("capacity", {}):
        return
    accelerator, machine_type = args.get("accelerator"), args.get("machine_type")
    if accelerator is not None and declared.accelerator is None:
        fix = f"{did_you_mean(accelerator, [each.name for each in ACCELERATORS])} {_OWN}"
        yield Problem("accelerator", "is not in the catalog", got=accelerator, fix=fix)
    if machine_type is not None and find_machine_type(machine_type) is None:
        near = near_machine_types(machine_type)
        fix = f"did you mean {' or '.join(near)}? {_OWN}" if near else _OWN.removeprefix("or ")
        yield Problem("machine_type", "is not in the catalog", got=machine_type, fix=fix)


def _contradictions(declared: Declaration) -> Iterator[Problem]:
    args = declared.args
    machine = find_machine_type(args.get("machine_type", ""))
    if machine is None:
        return
    wanted = declared.accelerator
    if "accelerator" in args and wanted is not None and wanted.name != machine.accelerator:
        what = f"is not that of {machine.name}, which has {machine.accelerator}"
        yield Problem("accelerator", what, got=args["accelerator"])
    yield from _count_problems(declared, machine)
    if declared.cloud is not None and machine.cloud != declared.cloud:
        what = f"is a machine of {machine.cloud}; backend {declared.backend} makes machines of {declared.cloud}"
        yield Problem("machine_type", what, got=machine.name)


def _count_problems(declared: Declaration, machine: MachineType) -> Iterator[Problem]:
    gpus = declared.args.get("gpus_per_node", machine.accelerators)
    if gpus != machine.accelerators:
        what = f"is not that of {machine.name}, which has {machine.accelerators}"
        yield Problem("gpus_per_node", what, got=gpus, fix="leave it out")
    in_capacity = declared.args.get("capacity", {}).get(declared.resource)
    if in_capacity is not None and str(in_capacity) != str(declared.gpus):
        what = f"is not the {declared.gpus} that gpus_per_node or the machine type says"
        yield Problem(f"capacity.{declared.resource}", what, got=in_capacity)


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
        yield Problem("nodes.max", what, fix="set the maximum number of machines")
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
        what = "is not supported by Karpenter"
        fix = "say nodes.replicas for a fixed number, or leave it out"
        yield Problem("nodes.min", what, got=nodes["min"], fix=fix)
    if backend == "gke_compute_class" and (declared.is_static or nodes.get("min", 0) > 0):
        key = "replicas" if declared.is_static else "min"
        what = "is not supported by a ComputeClass: GKE creates machines for waiting pods"
        fix = "leave it out, or use backend gke"
        yield Problem(f"nodes.{key}", what, got=declared.least, fix=fix)


def problems_of_purchase(declared: Declaration) -> Iterator[Problem]:
    """Problems of capacity type, reservation and provisioning class."""
    args, kind = declared.args, declared.capacity_type
    if kind not in _OFFERS[declared.backend]:
        what = f"backend {declared.backend} cannot buy this capacity type"
        fix = f"use {', '.join(_OFFERS[declared.backend])}"
        yield Problem("capacity_type", what, got=kind, fix=fix)
    elif "reservation" in args and kind not in _RESERVED:
        what = f"applies only to reserved machines, and these are {kind}"
        fix = "say capacity_type='reserved', or leave the reservation out"
        yield Problem("reservation", what, got=args["reservation"], fix=fix)
    elif kind in _RESERVED and "reservation" not in args and declared.backend in {"eks", "gke"}:
        yield Problem("reservation", f"is missing, and machines are {kind}")
    if "max_run_duration" in args and kind != "flex-start" and "provisioning_class" not in args:
        what = f"applies only to machines that a cloud can reclaim, and these are {kind}"
        fix = "say capacity_type='flex-start', or leave it out"
        yield Problem("max_run_duration", what, got=args["max_run_duration"], fix=fix)
    yield from _provisioning_problems(declared)


def _provisioning_problems(declared: Declaration) -> Iterator[Problem]:
    wanted, backend = declared.args.get("provisioning_class"), declared.backend
    if wanted is None:
        return
    if wanted not in CLASSES:
        what, fix = "is not a class of ProvisioningRequests", did_you_mean(wanted, CLASSES)
        yield Problem("provisioning_class", what, got=wanted, fix=fix)
    if backend == "karpenter":
        what = "is not supported by Karpenter (kubernetes-sigs/kueue#5133)"
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


def problems_of_fabric(declared: Declaration) -> Iterator[Problem]:
    """Problems of `fabric`."""
    preset = declared.fabric
    if preset is None:
        return
    name = preset.name
    if preset.cloud is not None and declared.cloud not in {None, preset.cloud}:
        what = f"is a fabric of {preset.cloud}, and the machines belong to {declared.cloud}"
        yield Problem("fabric", what, got=name)
        return
    for each in declared.machines:
        has_it = name in each.fabrics
        if not has_it and (each.cloud == "aws" or preset.cloud is not None):
            other = f"it has {', '.join(each.fabrics)}" if each.fabrics else "it has plain TCP only"
            yield Problem("fabric", f"is not available on {each.name}: {other}", got=name)
    yield from _interface_problems(declared)


def _interface_problems(declared: Declaration) -> Iterator[Problem]:
    given, name = declared.fabric_args, declared.fabric_args["preset"]
    interfaces = given.get("interfaces")
    if name == "efa":
        most = min((each.efa for each in declared.machines), default=None)
        if interfaces is None and most is None:
            what = "is missing, and there is no machine type to take it from"
            yield Problem("fabric.interfaces", what)
        if interfaces is not None and most and interfaces > most:
            what = f"is more than the {most} EFA interfaces that a machine has"
            yield Problem("fabric.interfaces", what, got=interfaces)
        if len(declared.args.get("zones", ())) > 1:
            what = "is more than one zone, and EFA reaches no other"
            yield Problem("zones", what, got=list(declared.args["zones"]), fix="write one zone")
    if interfaces is not None and interfaces < 1:
        yield Problem("fabric.interfaces", "must be at least 1", got=interfaces)
    networks = given.get("networks", ())
    count = interfaces or (declared.fabric.interfaces if declared.fabric else 0)
    if networks and name in GKE_FABRICS and len(networks) != count:
        what = f"must be {count}, one for each interface"
        yield Problem("fabric.networks", what, got=len(networks))
