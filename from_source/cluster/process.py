"""One program of a cluster, running: its output in a log file, its life bound to ours.

The kernel ends it when this process dies, however it dies, so that a killed test run leaves nothing
behind.
"""

import ctypes
import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from from_source.cluster.waiting import wait_until
from trainer_infra.errors import NotAvailable

_PR_SET_PDEATHSIG: Final = 1
_LIBC: Final = ctypes.CDLL(None)
"""Loaded before any fork: a child of a process with threads may not load libraries."""

READY_WITHIN: Final = 600.0
"""Seconds that a program may take to answer; a loaded machine is no failure."""


class Process:
    """A started program; call it from the main thread, whose end the kernel watches."""

    def __init__(
        self, command: Sequence[str], folder: Path, env: Mapping[str, str] | None = None
    ) -> None:
        self.name: Final = Path(command[0]).name
        self.log: Final = folder / f"{self.name}.log"
        parent = os.getpid()
        with self.log.open("w") as output:
            self._running = subprocess.Popen(
                command,
                cwd=folder,
                env=os.environ | (env or {}),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=lambda: _die_with(parent),  # noqa: PLW1509  before any thread of ours
            )

    @property
    def pid(self) -> int:
        """Of the process."""
        return self._running.pid

    def wait_until_ready(self, ready: Callable[[], bool]) -> None:
        """Return when it answers.

        Raises:
            NotAvailable: It ended, or does not answer in time; with the last lines of its log.
        """

        def ended_or_ready() -> bool:
            return self._running.poll() is not None or ready()

        in_time = wait_until(ended_or_ready, READY_WITHIN)
        code = self._running.poll()
        if in_time and code is None:
            return
        why = "does not answer" if code is None else f"ended with exit code {code}"
        last = "\n".join(self.log.read_text("utf-8", "replace").splitlines()[-20:])
        raise NotAvailable(f"{self.name} {why}; the end of its log:\n{last}")

    def kill(self) -> None:
        """End it at once; its data are thrown away in any case."""
        self._running.kill()
        self._running.wait()


def _die_with(parent: int) -> None:
    _LIBC.prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)
