"""Accelerator, machine type, and what one machine has."""

from collections.abc import Iterator
from typing import Final

from trainer_infra.api import quantity
from trainer_infra.catalog.accelerators import ACCELERATORS
from trainer_infra.catalog.machine_types import MachineType, find_machine_type, near_machine_types
from trainer_infra.errors import Problem
from trainer_infra.platform.pools.declaration import Declaration
from trainer_infra.words import did_you_mean

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
