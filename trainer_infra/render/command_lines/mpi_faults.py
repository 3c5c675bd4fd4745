"""Why mpirun and horovodrun would not start the ranks that the runtime has nodes and slots for.

Facts: mpirun reads the hostfile (reference behaviour 3.6); horovodrun reads none by itself.
"""

import re
from collections.abc import Iterator
from typing import Final

from trainer_infra.render.command_lines.command_line import Program
from trainer_infra.render.command_lines.node_counts import (
    MPI,
    TrainingNodes,
    counted,
    is_this_machine,
    number_of,
)
from trainer_infra.render.command_lines.references import UNREAD, Fault

HOST_FILES: Final = ("hostfile", "machinefile", "default_hostfile", "f")
_MAPPED: Final = re.compile(r"ppr:(\d+):node")


def mpirun_faults(program: Program, nodes: TrainingNodes) -> Iterator[Fault]:
    """What is wrong with mpirun or one of its kin."""
    if program.unread:
        return
    if not program.starts:
        yield "has no program to start", "write the program after its options"
        return
    hosts = program.option("H", "host", "hosts")
    is_hydra = program.file.endswith("hydra")
    if nodes.policy != MPI:
        brings_hosts = program.option(*HOST_FILES)
        if nodes.nodes > 1 and hosts is None and brings_hosts is None:
            fix = "take a runtime with mlPolicy.mpi, or start the program with torchrun"
            yield nodes.each_alone(), fix
        return
    if hosts is not None and nodes.nodes > 1 and is_this_machine(hosts):
        what = f"has --host {hosts}: it runs on the launcher alone"
        yield what, "leave the option out: mpirun reads /etc/mpi/hostfile"
        return
    if is_hydra and hosts is None and program.option(*HOST_FILES) is None:
        fix = "write -f /etc/mpi/hostfile, or use Open MPI's mpirun"
        yield f"reads no hostfile of Open MPI: {nodes.idle()}", fix
        return
    yield from _hosts(hosts, nodes)
    yield from _per_node(program, nodes)
    yield from _ranks(program, nodes)


def horovodrun_faults(program: Program, nodes: TrainingNodes) -> Iterator[Fault]:
    """What is wrong with horovodrun, which knows no host but what it is told."""
    hosts = program.option("H", "hosts")
    file = program.option("hostfile", "host_discovery_script")
    if hosts is None and file is None:
        if nodes.policy == MPI:
            fix = "write -hostfile /etc/mpi/hostfile, or start the program with mpirun"
            yield f"runs on the launcher alone, and {nodes.idle()}", fix
        elif nodes.nodes > 1 and not nodes.finds_others:
            yield nodes.each_alone(), "take a runtime with mlPolicy.mpi"
    elif nodes.policy == MPI:
        yield from _hosts(hosts, nodes)
        yield from _ranks(program, nodes)


def _hosts(hosts: str | None, nodes: TrainingNodes) -> Iterator[Fault]:
    """Hosts that are written out, with their slots."""
    if hosts is None or UNREAD in hosts:
        return
    listed = [each.partition(":") for each in hosts.split(",") if each]
    slots = [each[2] for each in listed if each[2]]
    fix = "leave the option out: mpirun reads /etc/mpi/hostfile"
    if len(listed) != nodes.nodes:
        yield nodes.other_count(f"names {counted(len(listed), 'host')}"), fix
    elif any(number_of(each) not in (None, nodes.slots) for each in slots):
        yield f"gives hosts {slots[0]} slots, and numProcPerNode is {nodes.slots}", fix


def _per_node(program: Program, nodes: TrainingNodes) -> Iterator[Fault]:
    """How many processes mpirun is told to start on each node."""
    mapped = _MAPPED.match(program.option("map_by") or "")
    number = number_of(program.option("N", "npernode", "ppn", "perhost")) or (
        int(mapped[1]) if mapped else None
    )
    if number is None or number == nodes.slots or _may_exceed(program):
        return
    if number > nodes.slots or nodes.devices:
        end = "mpirun refuses it" if number > nodes.slots else "the others are idle"
        what = f"starts {number} processes on each node, and a node has {nodes.slots} slots"
        yield f"{what}: {end}", "leave the number out, or set numProcPerNode to it"


def _may_exceed(program: Program) -> bool:
    return any("oversubscribe" in f"{key}{value}".lower() for key, value in program.options.items())


def _ranks(program: Program, nodes: TrainingNodes) -> Iterator[Fault]:
    """The number of processes that mpirun is told, where that is one of all."""
    number, slots = number_of(program.option("np", "n", "c", "num_proc")), nodes.nodes * nodes.slots
    if number is None or ":" in program.starts:
        return
    what = f"starts {number} processes, and the nodes have {slots} slots"
    fix = "leave the number out: mpirun fills the slots of all nodes"
    if number > slots and not _may_exceed(program):
        yield f"{what}: mpirun refuses it", fix
    elif number < slots and (nodes.devices or number < nodes.nodes):
        yield f"{what}: the others are idle", fix
