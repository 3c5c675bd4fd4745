"""Child processes of the supervisor: started by its one thread, reaped by one signal handler.

The supervisor is also the parent of whatever its pods left behind (subreaper), so every exit of any
child ends up here.
"""

import asyncio
import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from trainer_infra.local import processes


@dataclass(frozen=True, slots=True)
class Command:
    """What to start."""

    arguments: Sequence[str]
    """The program, looked up on the PATH of `env`, and its arguments."""
    env: Mapping[str, str]
    """The whole environment."""
    folder: Path
    """Working directory."""


@dataclass(frozen=True, slots=True)
class Child:
    """A started process, leader of its own session."""

    pid: int
    """Process id, and id of its session and group."""
    exit: asyncio.Future[int]
    """Its exit code, 128+n for signal n."""


class Children:
    """All children of this process. Make one, in the main thread, inside the event loop."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._running: dict[int, tuple[subprocess.Popen[bytes], asyncio.Future[int]]] = {}
        self._loop.add_signal_handler(signal.SIGCHLD, self._reap)

    def start(self, command: Command, output: int) -> Child:
        """Start a process whose stdout and stderr are the handle `output`.

        Raises:
            OSError: It cannot be started.
        """
        parent = os.getpid()
        # No with-block and no wait(): the one owner of exits is _reap.
        started = subprocess.Popen(
            command.arguments,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            cwd=command.folder,
            env=dict(command.env),
            start_new_session=True,
            preexec_fn=lambda: processes.die_with_parent(parent),  # noqa: PLW1509  one thread only
        )
        child = Child(started.pid, self._loop.create_future())
        self._running[started.pid] = (started, child.exit)
        return child

    async def run(self, command: Command, output: int) -> int:
        """Start a process as `start` does, close `output`, and wait for the exit code; cancelled, it kills it."""
        try:
            child = self.start(command, output)
        finally:
            os.close(output)
        try:
            return await asyncio.shield(child.exit)
        except asyncio.CancelledError:
            with suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            await child.exit
            raise

    def _reap(self) -> None:
        """Take the exit status of every child that ended, adopted ones too."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            started, future = self._running.pop(pid, (None, None))
            if started is None or future is None:
                continue
            code = os.waitstatus_to_exitcode(status)
            started.returncode = code
            if not future.done():
                future.set_result(code if code >= 0 else 128 - code)
