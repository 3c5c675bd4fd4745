"""What a runtime makes of a TrainJob's nodes, to which the numbers of a command line are compared."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from trainer_infra.render.command_lines.command_line import CommandLine
from trainer_infra.render.command_lines.program_options import LauncherKind
from trainer_infra.render.command_lines.references import UNREAD, Fault

TORCH, MPI = "torch", "mpi"
BACKEND: Final = "PET_RDZV_BACKEND"
STATIC: Final = "static"
_THIS_MACHINE: Final = ("localhost", "127.0.0.1", "[::1]", "::1", "0.0.0.0")  # noqa: S104  looked for


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
    processes: int | None = None
    """Those of each node that the TrainJob asks for by numProcPerNode."""
    lacks_devices: bool = False
    """Whether each node is known to have no accelerator."""
    finds_others: bool = False
    """Whether the user's variables or words say where the other nodes are."""
    variables: Mapping[str, str | None] = field(default_factory=dict)
    """Those of the container that starts the training."""

    def each_alone(self) -> str:
        """A clause: each node trains alone."""
        return (
            f"is started on each of {self.nodes} nodes and not told of the others, "
            f"so that {self.nodes} trainings run alone"
        )

    def idle(self) -> str:
        """A clause: the nodes, or the only one, do nothing."""
        return f"{self.nodes} nodes are idle" if self.nodes > 1 else "the node is idle"

    def same_rank(self, shown: str, rank: str | None, fix: str) -> Iterator[Fault]:
        """A rank that is written out, which each of several nodes then has."""
        if self.nodes > 1 and number_of(rank) is not None:
            yield f"has {shown}{rank} on each of {self.nodes} nodes", fix

    def other_count(self, what: str) -> str:
        """A clause that tells another number of nodes, with the TrainJob's."""
        return f"{what}, and the TrainJob has {counted(self.nodes, 'node')}"


def is_this_machine(address: str) -> bool:
    """Whether an address, with a port or without one, is the machine on which it is used."""
    return address in _THIS_MACHINE or address.rpartition(":")[0] in _THIS_MACHINE


def number_of(text: str | None) -> int | None:
    """A number that is written out; None where it is none, or known only when it runs."""
    if text is None or UNREAD in text:
        return None
    return int(text) if text.strip().isdecimal() else None


def elastic_nodes(line: CommandLine, variables: Mapping[str, str | None]) -> tuple[int, int] | None:
    """The least and the most nodes of a torchrun that trains with those that there are; None of a fixed number.

    Its static rendezvous, the one without an option, waits for all of them.
    """
    for each in line.launchers():
        least, _, most = (each.option("nnodes") or "").partition(":")
        backend = each.option("rdzv_backend") or variables.get(BACKEND) or STATIC
        first, last = number_of(least), number_of(most)
        if (
            first
            and last
            and first < last
            and each.kind == LauncherKind.TORCHRUN
            and backend != STATIC
        ):
            return first, last
    return None


def counted(number: int, noun: str) -> str:
    """`1 node`, `2 nodes`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"
