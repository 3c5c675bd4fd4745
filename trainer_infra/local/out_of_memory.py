"""Whether the kernel ended a process because memory ran out: what a kubelet says as `OOMKilled`."""

from pathlib import Path
from typing import Final

VMSTAT: Final = Path("/proc/vmstat")


def kernel_kills() -> int:
    """How many processes the kernel ended for memory since it booted; 0 where it does not count.

    The count is of the whole machine (proc(5), `oom_kill`), also for what a control group limits: a
    program that SIGKILL ended while it grew ran out of memory, with hardly a doubt.
    """
    try:
        lines = VMSTAT.read_text().splitlines()
    except OSError:
        return 0
    counts = (line.split() for line in lines if line.startswith("oom_kill "))
    return next((int(count) for _, count in counts), 0)
