"""Why a command line would not train on all nodes together, judged by what the runtime gives to them.

Facts: torchrun reads `PET_*` for what its options do not say (reference behaviour 3.2); mpirun reads
the hostfile (3.6); `accelerate launch`, `deepspeed` and Python read none of them.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from trainer_infra.render.command_lines.program import CommandLine, Program, WordFault
from trainer_infra.render.command_lines.program_options import (
    ONLY_OF_TORCHRUN,
    LauncherKind,
    canonical,
)
from trainer_infra.render.command_lines.references import OF_OTHER_NODES, UNREAD, ContainerVariables

TORCH, MPI = "torch", "mpi"
_Fault = tuple[str, str]
"""What is wrong with a program, and what to do about it."""
_THIS_MACHINE: Final = ("localhost", "127.0.0.1", "[::1]", "::1", "0.0.0.0")  # noqa: S104  looked for
_TORCHRUN: Final = "start it with torchrun, as in [torchrun, train.py]"
_MPIRUN: Final = "start it with mpirun, as in [mpirun, python, train.py]"
_TORCHRUN_OR_MACHINES: Final = (
    "start the program with torchrun, which Accelerate works under, or write --num_machines, "
    "--machine_rank $(PET_NODE_RANK), --main_process_ip $(PET_MASTER_ADDR) and --main_process_port"
)
_OTHER_RUNTIME: Final = "take a runtime with mlPolicy.torch, such as torch-distributed"


@dataclass(frozen=True, slots=True)
class TrainingNodes:
    """What the runtime makes of a TrainJob's nodes."""

    policy: str
    """The framework of its mlPolicy; empty for a plain one."""
    nodes: int
    devices: int = 0
    """Accelerators of each node; 0 where it has none, or they are not known."""
    slots: int = 1
    """Of MPI: processes that mpirun starts on each node."""
    finds_others: bool = False
    """Whether the user's variables or words say where the other nodes are."""


def launch_faults_of(
    line: CommandLine,
    words: Sequence[str],
    nodes: TrainingNodes | None,
    variables: ContainerVariables,
) -> tuple[WordFault, ...]:
    """What is wrong with a command line: with its words first, then with how it starts the training.

    `words` are the items of `command`, then those of `args`; `nodes` is None of a container that
    does not start the training.
    """
    if nodes is None or line.faults:
        return line.faults
    told = any(each in word for word in words for each in OF_OTHER_NODES)
    return tuple(
        launch_faults(line, replace(nodes, finds_others=told or variables.tell_of_nodes()))
    )


def launch_faults(line: CommandLine, nodes: TrainingNodes) -> Iterator[WordFault]:
    """What is wrong with how it starts the training; nothing where that is not read."""
    if line.unread or nodes.policy == "flux":
        return
    # Of several, such as one that prepares data before the other, one that is right will do.
    found = [(each, tuple(_JUDGES[each.kind](each, nodes))) for each in line.launchers()]
    if found and all(faults for _, faults in found):
        program, faults = found[-1]
        yield from (WordFault(program.item, what, fix) for what, fix in faults)


def is_unread(line: CommandLine, nodes: TrainingNodes) -> bool:
    """Whether nothing is said of how several nodes come together, because it cannot be read."""
    launchers = line.launchers()
    has_file = any("config_file" in each.options or each.unread for each in launchers)
    several = nodes.nodes > 1 and nodes.policy in (TORCH, MPI)
    return several and (line.unread or not launchers or has_file)


def _alone(_program: Program, nodes: TrainingNodes) -> Iterator[_Fault]:
    """A program that knows of no other node."""
    if nodes.finds_others:
        return
    if nodes.policy == MPI:
        if nodes.nodes * nodes.slots > 1:
            yield f"runs on the launcher alone, and {_idle(nodes)}", _MPIRUN
    elif nodes.policy == TORCH and nodes.nodes > 1:
        yield _each_alone(nodes), _TORCHRUN


def _each_alone(nodes: TrainingNodes) -> str:
    return (
        f"is started on each of {nodes.nodes} nodes and not told of the others, "
        f"so that {nodes.nodes} trainings run alone"
    )


def _idle(nodes: TrainingNodes) -> str:
    return f"{nodes.nodes} nodes are idle" if nodes.nodes > 1 else "the node is idle"


def _torchrun(program: Program, nodes: TrainingNodes) -> Iterator[_Fault]:
    if nodes.policy == MPI:
        yield from _alone(program, nodes)
        return
    if program.kind == LauncherKind.TORCHRUN and not program.starts and not program.unread:
        yield "has no script to start", "write the script after its options"
    yield from _after_the_script(program)
    yield from _torchrun_nodes(program, nodes)
    yield from _processes(nodes, program.option("nproc_per_node"))


def _torchrun_nodes(program: Program, nodes: TrainingNodes) -> Iterator[_Fault]:
    written = program.option("nnodes")
    if nodes.nodes <= 1:
        waits = _number(written)
        if waits is not None and waits > 1:
            what = f"waits for {waits} nodes, and the TrainJob has one"
            yield what, f"leave --nnodes out, or set numNodes to {waits}"
        return
    if "standalone" in program.options:
        what = f"has --standalone: it {_each_alone(nodes)}"
        yield what, _left_out(nodes, "PET_NNODES")
        return
    if nodes.policy != TORCH and not nodes.finds_others:
        meets = program.option("rdzv_endpoint", "master_addr")
        if written is None or meets is None:
            missing = "--nnodes" if written is None else "--rdzv-endpoint"
            own = f"has no {missing}, which this runtime does not set either"
            yield f"{own}: it {_each_alone(nodes)}", _OTHER_RUNTIME
            return
    yield from _meeting(program, nodes)


def _meeting(program: Program, nodes: TrainingNodes) -> Iterator[_Fault]:
    """How many nodes meet, as which of them, and where."""
    written = program.option("nnodes") or ""
    least, _, most = written.partition(":")
    first, last = _number(least), _number(most or least)
    if first is not None and last is not None and not first <= nodes.nodes <= last:
        end = ": each trains alone" if last == 1 else ""
        what = f"has --nnodes={written}, and the TrainJob has {nodes.nodes} nodes{end}"
        yield what, _left_out(nodes, "PET_NNODES")
    rank = _number(program.option("node_rank"))
    if rank is not None:
        what = f"has --node-rank={rank} on each of {nodes.nodes} nodes"
        yield what, _left_out(nodes, "PET_NODE_RANK")
    for name in ("rdzv_endpoint", "master_addr"):
        address = program.option(name) or ""
        if _is_this_machine(address):
            what = f"meets at {address}, which each of {nodes.nodes} nodes takes for itself"
            yield what, _left_out(nodes, "PET_MASTER_ADDR")


def _left_out(nodes: TrainingNodes, variable: str) -> str:
    reads = f"leave the option out: torchrun reads {variable}"
    return reads if nodes.policy == TORCH else _OTHER_RUNTIME


def _is_this_machine(address: str) -> bool:
    return address in _THIS_MACHINE or address.rpartition(":")[0] in _THIS_MACHINE


def _after_the_script(program: Program) -> Iterator[_Fault]:
    """Options of torchrun after the script, which are the script's."""
    for word in program.starts[1:]:
        name = canonical(word.partition("=")[0])
        is_option = word.startswith("--") and name in ONLY_OF_TORCHRUN
        if is_option and name not in program.options:
            what = f"has {word.partition('=')[0]} after {program.starts[0]}, which is given to the script"
            yield what, "write torchrun's options before the script"


def _processes(nodes: TrainingNodes, written: str | None) -> Iterator[_Fault]:
    number = _number(written)
    if number is None or not nodes.devices or number == nodes.devices:
        return
    which = "which two of them would share" if number > nodes.devices else "of which some are idle"
    what = f"starts {number} processes on a node with {nodes.devices} accelerators, {which}"
    yield what, "leave the number out, or set numProcPerNode and the accelerators alike"


def _accelerate(program: Program, nodes: TrainingNodes) -> Iterator[_Fault]:
    if program.unread or "config_file" in program.options:
        return
    if nodes.policy == MPI:
        yield from _alone(program, nodes)
        return
    machines = _number(program.option("num_machines"))
    if program.option("num_machines") is None or machines == 1:
        if nodes.nodes > 1:
            yield _each_alone(nodes), _TORCHRUN_OR_MACHINES
    elif machines is not None and machines != nodes.nodes:
        what = f"has --num_machines {machines}, and the TrainJob has {nodes.nodes} nodes"
        yield what, f"write --num_machines {nodes.nodes}, or $(PET_NNODES)"
    elif nodes.nodes > 1:
        yield from _accelerate_rank(program, nodes)
    total, most = _number(program.option("num_processes")), nodes.devices * nodes.nodes
    if total is not None and nodes.devices and total != most:
        what = f"starts {total} processes in all, and there are {most} accelerators"
        yield what, f"write --num_processes {most}: it counts all nodes"


def _accelerate_rank(program: Program, nodes: TrainingNodes) -> Iterator[_Fault]:
    rank = program.option("machine_rank")
    if rank is None or _number(rank) is not None:
        what = f"has --machine_rank {rank or 0} on each of {nodes.nodes} nodes"
        yield what, "write --machine_rank $(PET_NODE_RANK)"
    address = program.option("main_process_ip")
    if address is None or _is_this_machine(address):
        has = "no --main_process_ip" if address is None else f"--main_process_ip {address}"
        what = f"has {has}, so that the nodes do not meet"
        yield what, "write --main_process_ip $(PET_MASTER_ADDR)"


def _deepspeed(program: Program, nodes: TrainingNodes) -> Iterator[_Fault]:
    if program.unread:
        return
    if program.option("hostfile", "H", "no_ssh") is not None:
        rank = _number(program.option("node_rank"))
        if rank is not None and nodes.nodes > 1:
            what = f"has --node_rank {rank} on each of {nodes.nodes} nodes"
            yield what, "write --node_rank $(PET_NODE_RANK)"
    elif nodes.policy == MPI:
        if nodes.nodes * nodes.slots > 1:
            what = f"has no --hostfile: it runs on the launcher alone, and {_idle(nodes)}"
            fix = "write --hostfile=/etc/mpi/hostfile, or start the program with mpirun"
            yield what, fix
    else:
        yield from _alone(program, nodes)
        yield from _processes(nodes, program.option("num_gpus", "num_accelerators"))


def _mpirun(program: Program, nodes: TrainingNodes) -> Iterator[_Fault]:
    if program.unread:
        return
    if not program.starts:
        yield "has no program to start", "write the program after its options"
        return
    hosts = program.option("H", "host", "hosts")
    if nodes.policy != MPI:
        brings_hosts = program.option("hostfile", "machinefile", "default_hostfile", "f")
        if nodes.nodes > 1 and hosts is None and brings_hosts is None:
            fix = "take a runtime with mlPolicy.mpi, or start the program with torchrun"
            yield _each_alone(nodes), fix
        return
    if hosts is not None and nodes.nodes > 1 and _is_this_machine(hosts):
        what = f"has --host {hosts}: it runs on the launcher alone"
        yield what, "leave the option out: mpirun reads /etc/mpi/hostfile"
        return
    yield from _ranks(program, nodes)


def _ranks(program: Program, nodes: TrainingNodes) -> Iterator[_Fault]:
    """The number of processes that mpirun is told, where that is one of all."""
    number, slots = _number(program.option("np", "n", "c")), nodes.nodes * nodes.slots
    if number is None or ":" in program.starts:
        return
    may_exceed = any(
        "oversubscribe" in f"{key}{value}".lower() for key, value in program.options.items()
    )
    what = f"starts {number} processes, and the nodes have {slots} slots"
    fix = "leave the number out: mpirun fills the slots of all nodes"
    if number > slots and not may_exceed:
        yield f"{what}: mpirun refuses it", fix
    elif number < slots and (nodes.devices or number < nodes.nodes):
        yield f"{what}: the others are idle", fix


def _number(text: str | None) -> int | None:
    """A number that is written out; None where it is none, or known only when it runs."""
    if text is None or UNREAD in text:
        return None
    return int(text) if text.strip().isdecimal() else None


_JUDGES: Final[Mapping[LauncherKind, Callable[[Program, TrainingNodes], Iterator[_Fault]]]] = {
    LauncherKind.TORCHRUN: _torchrun,
    LauncherKind.TUNE: _torchrun,
    LauncherKind.ACCELERATE: _accelerate,
    LauncherKind.DEEPSPEED: _deepspeed,
    LauncherKind.MPIRUN: _mpirun,
    LauncherKind.PYTHON: _alone,
}
