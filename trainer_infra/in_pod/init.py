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

ENDING = (signal.SIGTERM, signal.SIGINT)
FORWARDED = (*ENDING, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2)
NOT_FOUND = 127
"""The exit code of a shell that finds no such command."""
ELASTIC = "--rdzv-backend=c10d"
"""The option of a torchrun whose nodes come and go."""
OF_MEETING = "PET_RDZV_CONF"


def main(command: list[str]) -> int:
    """Run the command, handing signals on to it; its exit code, 128+n for signal n."""
    told: list[int] = []
    child = 0
    environment = dict(os.environ)
    is_elastic, is_first = ELASTIC in command, environment.get("JOB_COMPLETION_INDEX") == "0"
    if is_elastic:
        # By its name alone torchrun may not know, and on one machine each node takes it for its own.
        environment[OF_MEETING] = (
            f"{environment.get(OF_MEETING, '')},is_host={int(is_first)}".lstrip(",")
        )

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
    ended, status = 0, 0
    while ended != child:
        # Whose parent has ended is this one's to wait for.
        ended, status = os.waitpid(-1, 0)
    code = -told[0] if told else os.waitstatus_to_exitcode(status)
    if is_elastic and not is_first and code == 1:
        said = "torchrun has ended on this node, which starts again to train with the others"
        print(said, file=sys.stderr)  # noqa: T201  the pod's log
        code = -signal.SIGTERM
    return code if code >= 0 else 128 - code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
