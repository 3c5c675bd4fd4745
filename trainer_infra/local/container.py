"""One container as a process: started, read, waited for, ended with all that it left behind.

stdout and stderr come through a pipe into the pod's log, so a full disk and a failed run's last
lines are seen here and not by the training.
"""

import asyncio
import os
import signal
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from trainer_infra import names
from trainer_infra.json_values import JSONObject
from trainer_infra.local import processes
from trainer_infra.local.children import Child, Children, Command
from trainer_infra.local.pod_log import PodLog

CHUNK: Final = 64 * 1024
DRAIN: Final = 1.0
"""Seconds that the pipe of an ended container may stay open in another process."""


KILL_ROUNDS: Final = 10
"""How often to look for processes that were forked while the others were killed."""
KILL_PAUSE: Final = 0.01
"""Seconds between two looks."""


@dataclass(frozen=True, slots=True)
class ContainerSetup:
    """A container ready to start."""

    name: str
    """The container's name."""
    command: Command
    """What to start."""
    spec: JSONObject
    """The Container object: probes and restartPolicy are read from it."""


class ContainerProcess:
    """One container of one try of a pod. Cancelling `run` ends its processes, then returns."""

    def __init__(
        self, setup: ContainerSetup, children: Children, log: PodLog, grace: float
    ) -> None:
        self.setup = setup
        self.started = asyncio.Event()
        self._children = children
        self._log = log
        self._grace = grace
        self._child: Child | None = None
        self._closed = asyncio.Event()

    @property
    def running(self) -> bool:
        """Whether its process was started and did not end."""
        return self._child is not None and not self._child.exit.done()

    async def run(self) -> int:
        """Start it as `Children.start` does, and wait until it ended; its exit code."""
        read, write = os.pipe()
        os.set_blocking(read, False)
        loop = asyncio.get_running_loop()
        loop.add_reader(read, self._read, read)
        try:
            child = self._start(write)
            try:
                return await asyncio.shield(child.exit)
            finally:
                await self._end(child)
        finally:
            loop.remove_reader(read)
            os.close(read)
            self._log.end(self.setup.name)

    def kill(self) -> bool:
        """SIGKILL to all its processes, as a failed liveness probe does; whether there were any."""
        # Adopted ones too: by the mark, or by the session for a program that wrote over its
        # environment.
        every = processes.descendants(os.getpid())
        mark = self.setup.command.env[names.PROCESS_MARK]
        session = processes.in_session(every, self._child.pid) if self._child else []
        family = [*processes.marked_processes(every, mark), *session]
        processes.kill_processes(family)
        return bool(family)

    def _start(self, output: int) -> Child:
        try:
            self._child = self._children.start(self.setup.command, output)
        finally:
            os.close(output)
        self.started.set()
        return self._child

    async def _end(self, child: Child) -> None:
        """SIGTERM to its process group if it runs, then SIGKILL to whatever is left of it."""
        if not child.exit.done():
            with suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGTERM)
            await asyncio.wait({child.exit}, timeout=self._grace)
        for _ in range(KILL_ROUNDS):
            if not self.kill():
                break
            await asyncio.sleep(KILL_PAUSE)
        await asyncio.wait({child.exit})
        # Not wait_for: on Python 3.11 it loses a cancellation that comes with the result, and a
        # sidecar would then start again forever.
        with suppress(TimeoutError):
            async with asyncio.timeout(DRAIN):
                await self._closed.wait()

    async def execute(self, arguments: list[str]) -> int:
        """Run a command beside it, as an exec probe does; its exit code."""
        command = replace(self.setup.command, arguments=arguments)
        return await self._children.run(command, os.open(os.devnull, os.O_WRONLY))

    def _read(self, handle: int) -> None:
        try:
            data = os.read(handle, CHUNK)
        except BlockingIOError:
            return
        if data:
            self._log.feed(self.setup.name, data)
        else:
            asyncio.get_running_loop().remove_reader(handle)
            self._closed.set()
