"""The first process of a training pod: starts the command after it, and ends with 143 when it was told to end.

A program that is told to end and ends with 0 has not finished its training, and a Job of Kubernetes would count its
pod as done; torchrun then ends with 1, as it does for an error of the program. `code_mount` ships this text as `init.py`
and puts it before the framework's launcher.

Where torchrun trains on as many nodes as there are, they meet at the first one. When that one is lost, or the training
fails, torchrun ends on all of them: the first node's end counts, and the others end with 143, to start again.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from types import FrameType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from trainer_infra.in_pod.checkpoints.hang_watch import HangWatch

ENDING = (signal.SIGTERM, signal.SIGINT)
FORWARDED = (*ENDING, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)
NOT_FOUND = 127
"""The exit code of a shell that finds no such command."""
ELASTIC = "--rdzv-backend=c10d"
"""The option of a torchrun whose nodes come and go."""
OF_MEETING = "PET_RDZV_CONF"
ADDRESS = "PET_LOCAL_ADDR"


def main(command: list[str]) -> int:
    """Run the command, handing signals on to it; its exit code, 128+n for signal n."""
    told: list[int] = []
    child = 0
    watch = _hang_watch()
    environment = {**os.environ, **(watch.variables if watch else {}), **_meeting_of(command)}

    def hand_on(number: int, _frame: FrameType | None) -> None:
        if number in ENDING:
            told.append(number)
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, number)

    signal.pthread_sigmask(signal.SIG_BLOCK, FORWARDED)
    for each in FORWARDED:
        signal.signal(each, hand_on)
    try:
        # In a group of its own: who signals ours, as a supervisor on one machine does, signals it once.
        child = os.posix_spawnp(
            command[0], command, environment, setpgroup=0, setsigmask=(), setsigdef=FORWARDED
        )
    except OSError as error:
        print(f"cannot start {command[0]}: {error.strerror}", file=sys.stderr)  # noqa: T201  the pod's log
        return NOT_FOUND
    signal.pthread_sigmask(signal.SIG_UNBLOCK, FORWARDED)
    if watch:
        watch.begin(child, lambda: bool(told))
    ended, status = 0, 0
    while ended != child:
        # Whose parent has ended is this one's to wait for.
        ended, status = os.waitpid(-1, 0)
    if watch:
        watch.end()
    return _exit_code(command, -told[0] if told else os.waitstatus_to_exitcode(status))


def _exit_code(command: list[str], code: int) -> int:
    """As a shell has it. Of a range of nodes the first one's end tells how the training has ended."""
    if code == 1 and ELASTIC in command and not _is_first():
        said = "torchrun has ended on this node, which starts again to train with the others"
        print(said, file=sys.stderr)  # noqa: T201  the pod's log
        code = -signal.SIGTERM
    return code if code >= 0 else 128 - code


def _is_first() -> bool:
    return os.environ.get("JOB_COMPLETION_INDEX") == "0"


def _meeting_of(command: list[str]) -> dict[str, str]:
    """What torchrun cannot know by the name of its node alone: whether the others meet there, and that it is a new one.

    On one machine each node has the first one's address. A pod that replaces another has its name, and its process
    the same number: the others would take it for the one that they have lost.
    """
    if ELASTIC not in command:
        return {}
    said = f"{os.environ.get(OF_MEETING, '')},is_host={int(_is_first())}"
    return {OF_MEETING: said.lstrip(","), **_own_address()}


def _own_address() -> dict[str, str]:
    import socket  # noqa: PLC0415  slow to import, and few need it

    try:
        return {ADDRESS: os.environ.get(ADDRESS) or socket.gethostbyname(socket.gethostname())}
    except OSError:
        return {}


def _hang_watch() -> HangWatch | None:
    """What looks whether the training goes on, where that was asked for; an image may lack what it needs."""
    arranged = os.environ.get("TRAINER_INFRA_CHECKPOINT", "")
    if "hang_seconds" not in arranged:
        return None
    # A user's file beside this one may have the name of a module of Python.
    sys.path[0] = f"{sys.path[0]}/lib"
    try:
        from trainer_infra.in_pod.checkpoints import hang_watch  # noqa: PLC0415  only where it is asked for

        return hang_watch.watch_of(arranged)
    except Exception as error:  # noqa: BLE001  the training runs all the same
        print(f"hang_after has no effect: {error}", file=sys.stderr)  # noqa: T201  the pod's log
        return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
