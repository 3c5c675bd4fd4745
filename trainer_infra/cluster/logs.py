"""The lines of a run's pods: those there are, or as they come until the run has ended.

Only containers of the run itself are read, not what a webhook put beside them. Reports of progress,
which are lines too, are left out. A lost connection is taken up again where it broke; a pod whose
log is gone with it is said.
"""

import asyncio
import time
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing
from typing import Any, Final

from trainer_infra import names
from trainer_infra.cluster import container_logs
from trainer_infra.errors import NotAvailable, TrainerInfraError
from trainer_infra.json_values import JSONObject
from trainer_infra.kube import refusals
from trainer_infra.kube.client import KubeClient
from trainer_infra.kube.log_lines import SeenLines
from trainer_infra.kube.resource import POD
from trainer_infra.lifecycle import conditions as status_conditions
from trainer_infra.runs import pods as pod_facts
from trainer_infra.runs import reports
from trainer_infra.runs.redaction import Redaction
from trainer_infra.runs.run import LogSelection, Run
from trainer_infra.runs.terminal_lines import lines_of

Line = tuple[str, str]

INTERVAL: Final = 0.5
"""Seconds between two looks for new pods, and before a broken log is opened again."""
GONE: Final = "(the pod is gone, and its log with it)"
PATIENCE: Final = 120.0
"""Seconds that the server may not answer."""
BROKEN: Final = "(the log cannot be read any more: {})"
TRIES: Final = 20
"""Tries in a row to take up a log again, each of which waits for the server itself too."""
HOPELESS: Final = (refusals.NotKubernetes, refusals.Forbidden, refusals.Unauthorized)
"""After these the server or the node may answer again, but will not know this user sooner."""
_WAITING: Final = 1000
"""Lines that are read ahead of who follows."""


async def open_lines(
    client: KubeClient, run: Run, wanted: LogSelection, hidden: Redaction
) -> AsyncIterator[Line]:
    """The lines as (pod, line), none of which shows a value of the run's secrets.

    The run is as it was declared or, once that was seen, as it ended.

    Raises:
        NotAvailable: The run never had such a pod.
    """
    jobset, pods = await container_logs.jobset_and_pods(client, run)
    gone = _gone(run, pods)
    known = [each["metadata"]["name"] for each in pods] + list(gone)
    found = any(_is_wanted(each, wanted) for each in pods) or wanted.pod in (None, *gone)
    if not found:
        shown = ", ".join(known) or "none yet"
        raise NotAvailable(f"{run.key.shown()} has no pod {wanted.pod}; its pods are {shown}")
    if wanted.follow and jobset is not None and not _has_ended(jobset):
        return _redacted(_followed(client, run, wanted), hidden)
    return _redacted(
        _written(client, wanted, run, container_logs.started_containers(jobset, pods)), hidden
    )


async def _redacted(
    lines: AsyncGenerator[Line, None], hidden: Redaction
) -> AsyncGenerator[Line, None]:
    """The lines without values of the run's secrets."""
    async with aclosing(lines):
        async for pod, line in lines:
            yield pod, hidden.text(line)


async def _written(
    client: KubeClient,
    wanted: LogSelection,
    run: Run,
    sources: Iterator[container_logs.ContainerLog],
) -> AsyncGenerator[Line, None]:
    """The lines that there are, pod after pod."""
    seen = []
    for source in sources:
        seen.append(source.pod)
        if _is_wanted(source.pod, wanted):
            async for line in _read(client, source, wanted.tail):
                yield source.name, line
    for pod, lines in _gone(run, seen).items():
        if wanted.pod in (None, pod):
            for line in (GONE, *lines):
                yield pod, line


async def _read(
    client: KubeClient, source: container_logs.ContainerLog, tail: int | None
) -> AsyncGenerator[str, None]:
    """The lines of a container; with `tail` more are read than wanted, for reports are among them."""
    asked = None if tail is None else 4 * tail + 100
    kept: deque[str] = deque(maxlen=tail)
    try:
        async for line in client.logs(source.log(tail=asked)):
            for each in reports.without_reports(lines_of(line)):
                if tail is not None:
                    kept.append(each)
                else:
                    yield each
    except refusals.NotFound:
        yield GONE
    for line in kept:
        yield line


async def _followed(
    client: KubeClient, run: Run, wanted: LogSelection
) -> AsyncGenerator[Line, None]:
    """The lines as they come, until the run has ended and its containers have."""
    lines: asyncio.Queue[Line | None] = asyncio.Queue(_WAITING)
    reader = asyncio.ensure_future(_Reader(client, run, wanted, lines).run())
    try:
        while (line := await lines.get()) is not None:
            yield line
        await reader
    finally:
        reader.cancel()
        await asyncio.gather(reader, return_exceptions=True)


class _Reader:
    """Reads every container of a run from when it starts."""

    def __init__(
        self,
        client: KubeClient,
        run: Run,
        wanted: LogSelection,
        lines: "asyncio.Queue[Line | None]",
    ) -> None:
        self._client, self._run, self._wanted, self._lines = client, run, wanted, lines
        self._tasks: dict[tuple[str, str], asyncio.Task[None]] = {}

    async def run(self) -> None:
        """Read until the run has ended; then say so by None."""
        try:
            await self._until_the_end()
        except asyncio.CancelledError:
            # The caller takes no lines any more.
            raise
        except BaseException:
            await self._lines.put(None)
            raise
        else:
            await self._lines.put(None)
        finally:
            for each in self._tasks.values():
                each.cancel()
            await asyncio.gather(*self._tasks.values(), return_exceptions=True)

    async def _until_the_end(self) -> None:
        answered = time.monotonic()
        while True:
            try:
                goes_on = await self._goes_on()
                answered = time.monotonic()
            except refusals.Unreachable:
                goes_on = True
                if time.monotonic() - answered > PATIENCE:
                    raise
            if not goes_on:
                break
            await asyncio.sleep(INTERVAL)
        await asyncio.gather(*self._tasks.values())

    async def _goes_on(self) -> bool:
        """Begin to read new containers; whether more may come."""
        jobset, pods = await container_logs.jobset_and_pods(self._client, self._run)
        for source in container_logs.started_containers(jobset, pods):
            if _is_wanted(source.pod, self._wanted) and source.key not in self._tasks:
                self._tasks[source.key] = asyncio.ensure_future(self._read(source))
        return jobset is not None and not _has_ended(jobset)

    async def _read(self, source: container_logs.ContainerLog) -> None:
        """Every line of a container, over lost connections and its own restarts."""
        seen = SeenLines(source.pod["metadata"]["creationTimestamp"])
        tail, broken, why = self._wanted.tail, 0, ""
        while broken < TRIES:
            wanted = source.log(follow=True, tail=tail, since=seen.resume())
            try:
                async for line in self._client.logs(wanted):
                    at, _, text = line.partition(" ")
                    tail, broken = None, 0
                    shown = lines_of(text) if seen.is_new(at) else ()
                    for each in reports.without_reports(shown):
                        await self._lines.put((source.name, each))
            except refusals.NotFound:
                await self._lines.put((source.name, GONE))
                return
            except TrainerInfraError as error:
                broken, why = TRIES if isinstance(error, HOPELESS) else broken + 1, str(error)
            else:
                if await self._is_over(source):
                    return
            await asyncio.sleep(INTERVAL)
        await self._lines.put((source.name, BROKEN.format(why)))

    async def _is_over(self, source: container_logs.ContainerLog) -> bool:
        """Whether the container has ended for good."""
        try:
            pod = await self._client.get(POD, source.name, self._run.namespace)
        except refusals.NotFound:
            return True
        except TrainerInfraError:
            return False
        if pod["metadata"]["uid"] != source.pod["metadata"]["uid"] or pod_facts.is_over(pod):
            return True
        states = (
            each.get("state") or {}
            for each in pod_facts.container_statuses(pod)
            if each["name"] == source.container
        )
        ended = next((each.get("terminated") for each in states), None)
        return ended is not None and ended.get("exitCode") == 0


def _is_wanted(pod: JSONObject, wanted: LogSelection) -> bool:
    return wanted.pod in (None, pod["metadata"]["name"], pod_facts.host_name(pod))


def _gone(run: Run, pods: Any) -> dict[str, tuple[str, ...]]:
    """Pods that the run ended with and that are gone, with the lines that were kept of them."""
    there = {each["metadata"]["name"] for each in pods}
    kept = {run.failure.pod: run.failure.last_lines} if run.failure else {}
    ended = [*(each.pod for each in run.nodes), *kept]
    return {pod: kept.get(pod, ()) for pod in ended if pod not in there}


def _has_ended(jobset: JSONObject) -> bool:
    conditions = (jobset.get("status") or {}).get("conditions") or ()
    return any(
        status_conditions.is_true(conditions, each)
        for each in (names.JOBSET_COMPLETED, names.JOBSET_FAILED)
    )
