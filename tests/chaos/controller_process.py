"""`trainer-infra controller` as a process of this machine, and what may be done to one."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import ExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import aiohttp
import psutil

from from_source.cluster.process import Process
from trainer_infra.local.network import reserved_port

PROGRAM = Path(sys.executable).with_name("trainer-infra")
LONGEST = 300.0
"""Seconds in which a controller begins to work, on a machine that is busy too."""
LEASE = {"leaseDuration": "6s", "renewDeadline": "4s", "retryPeriod": "500ms"}
"""Shorter than usual: tests wait for it to pass."""
LEASE_NAME = "chaos"


class ControllerProcess:
    """One replica; each start is a new process with a log of its own."""

    def __init__(
        self,
        name: str,
        folder: Path,
        kubeconfig: Path,
        *,
        elects: bool = False,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self.starts = 0
        self.kills = 0
        self._folder = folder / name
        self._kubeconfig = kubeconfig
        self._elects = elects
        self._variables = variables or {}
        self._process: Process | None = None
        self._port = 0
        self._held = ExitStack()

    def start(self) -> None:
        """Begin, and do not wait."""
        if self._process is not None:
            self._process.kill()
        self._held.close()
        self._port, webhook = (self._held.enter_context(reserved_port()) for _ in range(2))
        self.starts += 1
        folder = self._folder / str(self.starts)
        folder.mkdir(parents=True)
        config = folder / "config.yaml"
        config.write_text(json.dumps(self._configuration(webhook)))
        variables = [f"{key}={value}" for key, value in self._variables.items()]
        command = [str(PROGRAM), "controller", "--config", config, "--kubeconfig", self._kubeconfig]
        self._process = Process(["env", *variables, *map(str, command)], folder)

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def has_ended(self) -> bool:
        """Whether it runs no more; one that is stopped runs."""
        with suppress(psutil.NoSuchProcess):
            return psutil.Process(self.pid).status() == psutil.STATUS_ZOMBIE
        return True

    def log(self) -> str:
        """What the last process wrote."""
        assert self._process is not None
        return self._process.log.read_text("utf-8", "replace")

    def logs(self) -> str:
        """What all its processes wrote."""
        return "".join(each.read_text("utf-8", "replace") for each in self._folder.glob("*/*.log"))

    async def is_ready(self) -> None:
        """Return when it has read all that there is."""
        async with asyncio.timeout(LONGEST), aiohttp.ClientSession() as session:
            while True:
                assert not self.has_ended, self.log()
                with suppress(aiohttp.ClientError):
                    async with session.get(f"http://127.0.0.1:{self._port}/readyz") as answer:
                        # No webhook is called here, so there is no certificate either.
                        if "[+]caches" in await answer.text():
                            return
                await asyncio.sleep(0.02)

    async def begin(self) -> None:
        """Start it, and wait until it is ready."""
        self.start()
        await self.is_ready()

    def kill(self) -> None:
        """SIGKILL; it has ended when this returns."""
        if self._process is not None:
            self._process.kill()
            self.kills += 1

    def freeze(self) -> None:
        """SIGSTOP: it stands with its connections open."""
        os.kill(self.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        """SIGCONT."""
        os.kill(self.pid, signal.SIGCONT)

    def rss(self) -> float:
        """MiB of memory."""
        return psutil.Process(self.pid).memory_info().rss / 2**20

    def _configuration(self, webhook: int) -> dict[str, Any]:
        value: dict[str, Any] = {
            "apiVersion": "config.trainer.kubeflow.org/v1alpha1",
            "kind": "Configuration",
            "metrics": {"bindAddress": "0"},
            "health": {"healthProbeBindAddress": f"127.0.0.1:{self._port}"},
            "webhook": {"host": "127.0.0.1", "port": webhook},
            "certManagement": {"enable": False},
        }
        if self._elects:
            place = {"resourceName": LEASE_NAME, "resourceNamespace": "default"}
            value["leaderElection"] = {"leaderElect": True, **LEASE, **place}
        return value


@asynccontextmanager
async def controller(
    folder: Path, kubeconfig: Path, name: str = "controller", **arguments: Any
) -> AsyncIterator[ControllerProcess]:
    """A replica that is ready; it has ended afterwards."""
    made = ControllerProcess(name, folder, kubeconfig, **arguments)
    await made.begin()
    try:
        yield made
    finally:
        made.kill()
