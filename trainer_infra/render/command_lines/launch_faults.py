"""Why a command line would not train on all nodes together, judged by what the runtime gives to them.

Facts: torchrun reads `PET_*` for what its options do not say (reference behaviour 3.2); mpirun reads
the hostfile (3.6); `accelerate launch`, `deepspeed` and Python read none of them.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from trainer_infra.render.command_lines import mpi_faults
from trainer_infra.render.command_lines.command_line import CommandLine, Program, WordFault
from trainer_infra.render.command_lines.node_counts import (
    BACKEND,
    MPI,
    STATIC,
    TORCH,
    TrainingNodes,
    counted,
    is_this_machine,
    number_of,
)
from trainer_infra.render.command_lines.program_options import (
    ONLY_OF_TORCHRUN,
    LauncherKind,
    canonical,
)
from trainer_infra.render.command_lines.references import (
    OF_OTHER_NODES,
    UNREAD,
    ContainerVariables,
    Fault,
)

_TORCHRUN: Final = "start it with torchrun, as in [torchrun, train.py]"
_MPIRUN: Final = "start it with mpirun, as in [mpirun, python, train.py]"
_TORCHRUN_OR_MACHINES: Final = (
    "start the program with torchrun, which Accelerate works under, or write --num_machines, "
    "--machine_rank $(PET_NODE_RANK), --main_process_ip $(PET_MASTER_ADDR) and --main_process_port"
)
_SHOW_DEVICES: Final = (
    *("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"),
    *("GPU_DEVICE_ORDINAL", "ASCEND_RT_VISIBLE_DEVICES", "HABANA_VISIBLE_MODULES"),
    "TPU_VISIBLE_CHIPS",
)
"""Variables that say which of a node's accelerators a program sees, by number."""
_RANKS: Final = ("RANK", "NODE_RANK", "GROUP_RANK", "MACHINE_RANK")
_REMOTE: Final = (LauncherKind.MPIRUN, LauncherKind.HOROVODRUN)
"""Launchers that do not give their own variables to what they start elsewhere."""
_ADDRESS: Final = re.compile(
    r"\[?(?:\d+\.\d+\.\d+\.\d+|[0-9a-fA-F:]*:[0-9a-fA-F:]*:[0-9a-fA-F]*)\]?"
)
_OTHER_RUNTIME: Final = "take a runtime with mlPolicy.torch, such as torch-distributed"


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
    finds_others = told or variables.tell_of_nodes()
    around = replace(nodes, finds_others=finds_others, variables=variables.values)
    return tuple(launch_faults(line, around))


def launch_faults(line: CommandLine, nodes: TrainingNodes) -> Iterator[WordFault]:
    """What is wrong with how it starts the training; nothing where that is not read."""
    if line.unread or nodes.policy == "flux":
        return
    # Of several, such as one that prepares data before the other, one that is right will do.
    launchers = line.launchers()
    found = [(each, tuple(_JUDGES[each.kind](each, nodes))) for each in launchers]
    if len(found) == 1 and not found[0][1]:
        found = [(launchers[0], tuple(_visible(launchers[0], nodes)))]
    if found and all(faults for _, faults in found):
        program, faults = found[-1]
        yield from (WordFault(program.item, what, fix) for what, fix in faults)


def _visible(program: Program, nodes: TrainingNodes) -> Iterator[Fault]:
    """Accelerators that a variable hides, or that there are not."""
    values = {**nodes.variables, **program.around.settings}
    for name in _SHOW_DEVICES:
        listed = values.get(name)
        if listed is None or UNREAD in listed or not nodes.devices or program.kind in _REMOTE:
            continue
        shown = [each for each in listed.split(",") if each.strip() not in ("", "-1")]
        if listed != "all" and len(shown) != nodes.devices:
            what = f"has {name}={listed}, and the node has {counted(nodes.devices, 'accelerator')}"
            yield what, f"leave {name} out: a container sees the accelerators that it asks for"


def is_unread(line: CommandLine, nodes: TrainingNodes) -> bool:
    """Whether nothing is said of how several nodes come together, because it cannot be read."""
    launchers = line.launchers()
    has_file = any("config_file" in each.options or each.unread for each in launchers)
    several = nodes.nodes > 1 and nodes.policy in (TORCH, MPI)
    return several and (line.unread or not launchers or has_file)


def _alone(_program: Program, nodes: TrainingNodes) -> Iterator[Fault]:
    """A program that knows of no other node."""
    if nodes.finds_others:
        for name in _RANKS if nodes.policy != MPI else ():
            fix = f"leave {name} out, and start the program with torchrun"
            yield from nodes.same_rank(f"{name}=", nodes.variables.get(name), fix)
    elif nodes.policy == MPI:
        if nodes.nodes * nodes.slots > 1:
            yield f"runs on the launcher alone, and {nodes.idle()}", _MPIRUN
    elif nodes.policy == TORCH and nodes.nodes > 1:
        yield nodes.each_alone(), _TORCHRUN


def _torchrun(program: Program, nodes: TrainingNodes) -> Iterator[Fault]:
    if nodes.policy == MPI:
        yield from _alone(program, nodes)
        return
    if program.kind == LauncherKind.TORCHRUN and not program.starts and not program.unread:
        yield "has no script to start", "write the script after its options"
    yield from _after_the_script(program)
    yield from _torchrun_nodes(program, nodes)
    yield from _processes(nodes, program.option("nproc_per_node"))


def _torchrun_nodes(program: Program, nodes: TrainingNodes) -> Iterator[Fault]:
    written = program.option("nnodes")
    if nodes.nodes <= 1:
        waits = number_of((written or "").partition(":")[0])
        if waits is not None and waits > 1:
            what = f"waits for {waits} nodes, and the TrainJob has one"
            yield what, f"leave --nnodes out, or set numNodes to {waits}"
        return
    if "standalone" in program.options:
        what = f"has --standalone: it {nodes.each_alone()}"
        yield what, _left_out(nodes, "PET_NNODES")
        return
    if nodes.policy != TORCH and not nodes.finds_others:
        meets = program.option("rdzv_endpoint", "master_addr")
        if written is None or meets is None:
            missing = "--nnodes" if written is None else "--rdzv-endpoint"
            own = f"has no {missing}, which this runtime does not set either"
            yield f"{own}: it {nodes.each_alone()}", _OTHER_RUNTIME
            return
    yield from _meeting(program, nodes)


def _meeting(program: Program, nodes: TrainingNodes) -> Iterator[Fault]:
    """How many nodes meet, as which of them, and where."""
    written = program.option("nnodes") or ""
    least, _, most = written.partition(":")
    first, last = number_of(least), number_of(most or least)
    if first is not None and last is not None and not first <= nodes.nodes <= last:
        end = ": each trains alone" if last == 1 else ""
        what = nodes.other_count(f"has --nnodes={written}")
        yield f"{what}{end}", _left_out(nodes, "PET_NNODES")
    backend = program.option("rdzv_backend") or nodes.variables.get(BACKEND, STATIC)
    if backend == STATIC and first is not None and last is not None and first < last:
        what = f"has --nnodes={written} and no --rdzv-backend: torchrun's own rendezvous waits for all {last} nodes"
        yield (
            what,
            "write --rdzv-backend=c10d and --rdzv-endpoint=$(PET_MASTER_ADDR):$(PET_MASTER_PORT)",
        )
    fix = _left_out(nodes, "PET_NODE_RANK")
    yield from nodes.same_rank("--node-rank=", program.option("node_rank"), fix)
    by_store = (program.option("rdzv_backend") or "").startswith("etcd")
    for name in ("rdzv_endpoint", "master_addr"):
        address = program.option(name) or ""
        what = ""
        if is_this_machine(address):
            what = f"meets at {address}, which each of {nodes.nodes} nodes takes for itself"
        elif _ADDRESS.fullmatch(address.rpartition(":")[0] or address) and not by_store:
            what = f"meets at {address}, and no pod has a known address before it starts"
        if what:
            yield what, _left_out(nodes, "PET_MASTER_ADDR")


def _left_out(nodes: TrainingNodes, variable: str) -> str:
    reads = f"leave the option out: torchrun reads {variable}"
    return reads if nodes.policy == TORCH else _OTHER_RUNTIME


def _after_the_script(program: Program) -> Iterator[Fault]:
    """Options of torchrun after the script, which are the script's."""
    for word in program.starts[1:]:
        name = canonical(word.partition("=")[0])
        is_option = word.startswith("--") and name in ONLY_OF_TORCHRUN
        if is_option and name not in program.options:
            what = f"has {word.partition('=')[0]} after {program.starts[0]}, which is given to the script"
            yield what, "write torchrun's options before the script"


def _processes(nodes: TrainingNodes, written: str | None) -> Iterator[Fault]:
    number = number_of(written)
    if written == "cpu" and nodes.devices:
        what = f"starts a process for each processor of a node with {nodes.devices} accelerators"
        yield what, "write gpu, or leave the number out"
    if written == "gpu" and nodes.lacks_devices:
        what = "starts a process for each GPU, and the node asks for none"
        yield what, "ask for GPUs, or write cpu"
    asked = nodes.devices or nodes.processes
    if number is None or not asked or number == asked:
        return
    if not nodes.devices:
        what = f"starts {number} processes on a node, and numProcPerNode is {asked}"
        yield what, "leave the number out: torchrun reads PET_NPROC_PER_NODE"
        return
    which = "which two of them would share" if number > nodes.devices else "of which some are idle"
    what = f"starts {number} processes on a node with {nodes.devices} accelerators, {which}"
    yield what, "leave the number out, or set numProcPerNode and the accelerators alike"


def _accelerate(program: Program, nodes: TrainingNodes) -> Iterator[Fault]:
    if program.unread or "config_file" in program.options:
        return
    if nodes.policy == MPI:
        yield from _alone(program, nodes)
        return
    machines = number_of(program.option("num_machines"))
    if program.option("num_machines") is None or machines == 1:
        if nodes.nodes > 1:
            yield nodes.each_alone(), _TORCHRUN_OR_MACHINES
    elif machines is not None and machines != nodes.nodes:
        what = nodes.other_count(f"has --num_machines {machines}")
        yield what, f"write --num_machines {nodes.nodes}, or $(PET_NNODES)"
    elif nodes.nodes > 1:
        yield from _accelerate_rank(program, nodes)
    yield from _accelerate_devices(program, nodes)


def _accelerate_devices(program: Program, nodes: TrainingNodes) -> Iterator[Fault]:
    listed = program.option("gpu_ids") or "all"
    is_known = listed != "all" and UNREAD not in listed
    if is_known and nodes.devices and len(listed.split(",")) != nodes.devices:
        what = f"has --gpu_ids {listed}, and the node has {nodes.devices} accelerators"
        yield what, "leave the option out"
    total, most = number_of(program.option("num_processes")), nodes.devices * nodes.nodes
    if total is not None and nodes.devices and total != most:
        what = f"starts {total} processes in all, and there are {most} accelerators"
        yield what, f"write --num_processes {most}: it counts all nodes"


def _accelerate_rank(program: Program, nodes: TrainingNodes) -> Iterator[Fault]:
    rank = program.option("machine_rank") or "0"
    yield from nodes.same_rank("--machine_rank ", rank, "write --machine_rank $(PET_NODE_RANK)")
    address = program.option("main_process_ip")
    if address is None or is_this_machine(address):
        has = "no --main_process_ip" if address is None else f"--main_process_ip {address}"
        what = f"has {has}, so that the nodes do not meet"
        yield what, "write --main_process_ip $(PET_MASTER_ADDR)"


def _deepspeed(program: Program, nodes: TrainingNodes) -> Iterator[Fault]:
    if program.unread:
        return
    if program.option("hostfile", "H", "no_ssh") is not None:
        yield from _deepspeed_nodes(program, nodes)
    elif nodes.policy == MPI:
        if nodes.nodes * nodes.slots > 1:
            what = f"has no --hostfile: it runs on the launcher alone, and {nodes.idle()}"
            fix = "write --hostfile=/etc/mpi/hostfile, or start the program with mpirun"
            yield what, fix
    else:
        yield from _alone(program, nodes)
    if nodes.policy != MPI or nodes.devices:
        yield from _processes(nodes, program.option("num_gpus", "num_accelerators"))


def _deepspeed_nodes(program: Program, nodes: TrainingNodes) -> Iterator[Fault]:
    rank, number = program.option("node_rank"), number_of(program.option("num_nodes"))
    yield from nodes.same_rank("--node_rank ", rank, "write --node_rank $(PET_NODE_RANK)")
    if number and number != nodes.nodes:
        what = nodes.other_count(f"has --num_nodes {number}")
        yield what, f"write --num_nodes {nodes.nodes}, or leave the option out"


_JUDGES: Final[Mapping[LauncherKind, Callable[[Program, TrainingNodes], Iterator[Fault]]]] = {
    LauncherKind.TORCHRUN: _torchrun,
    LauncherKind.TUNE: _torchrun,
    LauncherKind.ACCELERATE: _accelerate,
    LauncherKind.DEEPSPEED: _deepspeed,
    LauncherKind.MPIRUN: mpi_faults.mpirun_faults,
    LauncherKind.HOROVODRUN: mpi_faults.horovodrun_faults,
    LauncherKind.PYTHON: _alone,
}
