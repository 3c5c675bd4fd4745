"""One try of one pod: its init containers in order, then its containers side by side.

Native sidecars (init containers with restartPolicy Always) run beside and end with the pod. The
first container that fails ends the try; on a cluster the others would go on.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from trainer_infra.errors import InvalidInput
from trainer_infra.local import disk_use, probes
from trainer_infra.local.children import Children
from trainer_infra.local.container import ContainerProcess, ContainerSetup
from trainer_infra.local.jobset.pods import ObservedPod, PodPhase, Start
from trainer_infra.local.pod_log import PodLog
from trainer_infra.runs.redaction import Redaction

LONGEST_GRACE: Final = 10
"""Seconds between SIGTERM and SIGKILL at most, whatever the pod asks for."""
KILLED: Final = 137
"""Exit code of a process that SIGKILL ended."""
SIDECAR_PAUSE: Final = 1.0
"""Seconds before a sidecar that ended is started again."""
VMSTAT: Final = Path("/proc/vmstat")


@dataclass(frozen=True, slots=True)
class PodSetup:
    """A pod ready to start."""

    init: tuple[ContainerSetup, ...]
    """Init containers in order, sidecars among them."""
    main: tuple[ContainerSetup, ...]
    """Containers that run side by side."""
    grace: float
    """Seconds between SIGTERM and SIGKILL."""


@dataclass(frozen=True, slots=True)
class PodCallbacks:
    """What a pod tells the supervisor."""

    changed: Callable[[], None]
    """Its phase or readiness changed, or its training hangs or goes on."""
    disk_full: Callable[[Path, OSError], None]
    """Its log, or one of its files, cannot be written."""
    hidden: Redaction = field(default_factory=Redaction)
    """Values of secrets that it has, which its log does not get."""


class ContainerFailed(Exception):
    """A container ended the try."""

    def __init__(
        self, container: str, exit_code: int | None, reason: str, message: str = ""
    ) -> None:
        super().__init__(container, exit_code, reason)
        self.container = container
        self.exit_code = exit_code
        self.reason = reason
        self.message = message


class PodTry:
    """One try of one pod."""

    def __init__(self, start: Start, log: Path, children: Children, hooks: PodCallbacks) -> None:
        self._children = children
        self._hooks = hooks
        self._path = log
        self._log = PodLog(log, hooks.disk_full, hooks.hidden, hooks.changed)
        self._ready: dict[str, bool] = {}
        self._grace = 0.0
        self._last = ""
        self._stopping = False
        self._task: asyncio.Task[None] | None = None
        self.pod = ObservedPod(start.id, start.attempt, start.retry, datetime.now(UTC))

    @property
    def last_lines(self) -> tuple[str, ...]:
        """The last lines of its log."""
        return self._log.last_lines

    @property
    def ended(self) -> bool:
        """Whether all its processes are gone."""
        return self._task is not None and self._task.done()

    def begin(self, prepare: Callable[[], PodSetup]) -> None:
        """Start it beside the caller; `prepare` makes folders and environment."""
        self._task = asyncio.get_running_loop().create_task(self._run(prepare))
        self._task.add_done_callback(self._done)

    def stop(self) -> None:
        """Ask it to end: SIGTERM, then SIGKILL after its grace. Asking twice is asking once."""
        if self._task is not None and not self._stopping:
            self._stopping = True
            self._task.cancel()

    async def wait(self) -> None:
        """Wait until it ended."""
        if self._task is not None:
            await asyncio.wait({self._task})

    def _done(self, task: asyncio.Task[None]) -> None:
        if task.cancelled():  # before its first step
            self._finish(PodPhase.FAILED, None, "Stopped")
        elif (error := task.exception()) is not None:
            self._log.line(f"trainer-infra: this is a bug in trainer_infra: {error!r}")
            self._log.close()
            self._finish(PodPhase.FAILED, None, "StartError")
        self._hooks.changed()

    async def _run(self, prepare: Callable[[], PodSetup]) -> None:
        try:
            setup = prepare()
            self._grace = min(setup.grace, LONGEST_GRACE)
            await self._all(setup)
            self._finish(PodPhase.SUCCEEDED, 0, "Completed")
        except ContainerFailed as failed:
            self._last = failed.container
            self._finish(PodPhase.FAILED, failed.exit_code, failed.reason, failed.message)
        except (InvalidInput, OSError) as error:
            self._not_started("the pod", error)
            self._finish(PodPhase.FAILED, None, "StartError", str(error))
        except asyncio.CancelledError:
            self._last = ""
            self._finish(PodPhase.FAILED, None, "Stopped")
        finally:
            self._log.close()

    def _finish(
        self, phase: PodPhase, exit_code: int | None, reason: str, message: str = ""
    ) -> None:
        self.pod = replace(
            self.pod,
            phase=phase,
            ready=False,
            exit_code=exit_code,
            container=self._last,
            reason=reason,
            message=message,
            finished=datetime.now(UTC),
        )

    async def _all(self, setup: PodSetup) -> None:
        """Init containers in order, sidecars beside, then the containers side by side."""
        beside: list[asyncio.Task[None]] = []
        try:
            for each in setup.init:
                if each.spec.get("restartPolicy") == "Always":
                    await self._beside(each, beside)
                else:
                    await self._once(each)
            await self._side_by_side(setup.main)
        finally:
            for task in beside:
                task.cancel()
            await asyncio.gather(*beside, return_exceptions=True)

    async def _beside(self, setup: ContainerSetup, beside: list[asyncio.Task[None]]) -> None:
        """Start a sidecar and wait until it is ready."""
        ready = asyncio.Event()
        beside.append(asyncio.get_running_loop().create_task(self._again(setup, ready)))
        await ready.wait()

    async def _again(self, setup: ContainerSetup, ready: asyncio.Event) -> None:
        while True:
            try:
                await self._once(setup, lambda now: ready.set() if now else None)
            except ContainerFailed as failed:
                self._log.line(f"trainer-infra: sidecar {setup.name} ended: {failed.reason}")
            await asyncio.sleep(SIDECAR_PAUSE)

    async def _side_by_side(self, setups: Sequence[ContainerSetup]) -> None:
        self._ready = {setup.name: False for setup in setups}
        try:
            async with asyncio.TaskGroup() as group:
                for setup in setups:
                    group.create_task(self._one_of(setup))
        except ExceptionGroup as failures:
            raise failures.exceptions[0] from None

    async def _one_of(self, setup: ContainerSetup) -> None:
        """Run a container beside others; once it has ended the pod is not ready any more."""
        await self._once(setup, self._readiness(setup.name))
        self._ready[setup.name] = False
        ended = {**self.pod.ended, setup.name: datetime.now(UTC)}
        if len(ended) < len(self._ready):
            self.pod = replace(self.pod, ended=ended, ready=False)
            self._hooks.changed()

    async def _once(
        self, setup: ContainerSetup, ready: Callable[[bool], None] = lambda _: None
    ) -> None:
        """Run a container to its end, or raise how it failed."""
        container = ContainerProcess(setup, self._children, self._log, self._grace)
        kills = kernel_kills()
        watch = asyncio.get_running_loop().create_task(probes.watch_probes(container, ready))
        try:
            code = await container.run()
        except OSError as error:
            self._not_started(f"container {setup.name}", error)
            raise ContainerFailed(setup.name, None, "StartError", str(error)) from error
        finally:
            watch.cancel()
        self._last = setup.name
        if code != 0:
            ran_out = code == KILLED and kernel_kills() > kills
            raise ContainerFailed(setup.name, code, "OOMKilled" if ran_out else "Error")

    def _readiness(self, name: str) -> Callable[[bool], None]:
        def set_ready(value: bool) -> None:
            self._ready[name] = value
            ready = all(self._ready.values())
            if ready is not self.pod.ready and self.pod.phase is PodPhase.RUNNING:
                self.pod = replace(self.pod, ready=ready)
                self._hooks.changed()

        return set_ready

    def _not_started(self, what: str, error: Exception) -> None:
        if isinstance(error, OSError) and disk_use.is_full(error):
            self._hooks.disk_full(Path(error.filename or self._path), error)
        else:
            self._log.line(f"trainer-infra: {what} cannot start: {error}")


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
