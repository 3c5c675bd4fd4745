"""The containers of a run whose logs there are, and what stands in these: their last lines, and reports.

The last lines are for progress, and why a pod failed; one that cannot be read (no right to, not started,
gone) is nothing. A report is a line of a log, whether a server takes reports or not.
"""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final

from trainer_infra.cluster import live_objects
from trainer_infra.errors import TrainerInfraError
from trainer_infra.json_values import JSONObject
from trainer_infra.kube.client import KubeClient, LogOf
from trainer_infra.kube.refusals import Forbidden, NotFound, Unauthorized
from trainer_infra.kube.resource import JOBSET, POD
from trainer_infra.render import resolve
from trainer_infra.runs import pods as pod_facts
from trainer_infra.runs import report_history, reports, sentences
from trainer_infra.runs.redaction import Redaction
from trainer_infra.runs.run import Run
from trainer_infra.runs.terminal_lines import lines_of

TAIL: Final = 100
"""Last lines that are read: reports stand among others."""
PODS: Final = 16
"""Pods whose logs are read at most."""
WITHIN: Final = 3.0
REPORTS_WITHIN: Final = 60.0
"""Seconds for reading the last lines of a log, and all of it: a node may not answer."""
MOST_REPORTS: Final = 5000
"""Reports of a container that are kept; a log may hold a hundred thousand."""


@dataclass(frozen=True, slots=True)
class ContainerLog:
    """One container of one pod."""

    pod: JSONObject
    container: str

    @property
    def name(self) -> str:
        """Of the pod."""
        return str(self.pod["metadata"]["name"])

    @property
    def key(self) -> tuple[str, str]:
        """What tells it from any other: UID of the pod, and the container's name."""
        return self.pod["metadata"]["uid"], self.container

    def log(self, **more: Any) -> LogOf:
        """Its log, for a client; with fields of LogOf."""
        return LogOf(self.pod["metadata"]["namespace"], self.name, self.container, **more)


async def jobset_and_pods(
    client: KubeClient, run: Run
) -> tuple[JSONObject | None, tuple[JSONObject, ...]]:
    """The run's JobSet, and its pods in order."""
    pods = await live_objects.objects_of_jobset(client, POD, run.key)
    jobset: JSONObject | None = None
    with suppress(NotFound):
        found = await client.get(JOBSET, run.name, run.namespace)
        jobset = found if live_objects.is_of(found, run.uid) else None
    return jobset, pod_facts.in_order(jobset, pods)


def started_containers(
    jobset: JSONObject | None, pods: tuple[JSONObject, ...]
) -> Iterator[ContainerLog]:
    """Containers of the run that have started, in order; none of those that a webhook put beside them."""
    own = {
        each["name"]: each["template"]["spec"]["template"]["spec"]
        for each in ((jobset or {}).get("spec") or {}).get("replicatedJobs") or ()
    }
    for pod in pods:
        template = own.get(pod_facts.step_of(pod)) or pod["spec"]
        listed = (*(template.get("initContainers") or ()), *template["containers"])
        started = {each["name"] for each in pod_facts.container_statuses(pod) if _has_started(each)}
        for container in listed:
            if container["name"] in started:
                yield ContainerLog(pod, container["name"])


async def last_lines_by_pod(
    client: KubeClient, pods: Iterable[JSONObject]
) -> dict[str, tuple[str, ...]]:
    """The last lines by pod, of the first container of those that have started."""
    wanted = [each for each in pods if pod_facts.started_at(each)][:PODS]
    found = await asyncio.gather(*(last_lines(client, each) for each in wanted))
    return {pod["metadata"]["name"]: lines for pod, lines in zip(wanted, found, strict=True)}


async def last_lines(client: KubeClient, pod: JSONObject, container: str = "") -> tuple[str, ...]:
    """The last lines of a container; of the first, which is the one that trains, unless named."""
    first = pod["spec"]["containers"][0]["name"]
    wanted = ContainerLog(pod, container or first).log(tail=TAIL)
    with suppress(TrainerInfraError, TimeoutError):
        async with asyncio.timeout(WITHIN):
            return tuple([each async for line in client.logs(wanted) for each in lines_of(line)])
    return ()


def _has_started(container: JSONObject) -> bool:
    states = (container.get(key) or {} for key in ("state", "lastState"))
    return any("running" in each or "terminated" in each for each in states)


async def reports_in_logs(
    client: KubeClient, run: Run, hidden: Redaction
) -> tuple[report_history.PastReport, ...]:
    """The reports in the logs of the first pods that train, of each pod in order of time.

    The run's UID is that of what owns its JobSet.

    Raises:
        Refused: This account may not read logs.
    """
    jobset, pods = await jobset_and_pods(client, run)
    training = resolve.trainer_jobs((jobset or {}).get("spec") or {})
    first = [each for each in pods if pod_facts.step_of(each) in training][:PODS]
    ran = started_containers(jobset, tuple(first))
    found = await asyncio.gather(*(_of_container(client, run, each, hidden) for each in ran))
    return tuple(each for history in found for each in history)


async def _of_container(
    client: KubeClient, run: Run, container: ContainerLog, hidden: Redaction
) -> Sequence[report_history.PastReport]:
    """The reports of a container: of its try before this one first, where it was started again."""
    node = sentences.short_pod_name(run, pod_facts.host_name(container.pod))
    found: list[report_history.PastReport] = []
    tries = (True, False) if pod_facts.restart_count(container.pod) else (False,)
    for previous in tries:
        try:
            async with asyncio.timeout(REPORTS_WITHIN):
                async for line in client.logs(container.log(previous=previous)):
                    if (status := reports.of_line(line)) is None:
                        continue
                    report = report_history.past_report(node, status)
                    report = replace(report, metrics=hidden.texts(report.metrics))
                    # A report that did not reach the server is sent again, and so printed again.
                    if report.says_something and found[-1:] != [report]:
                        found.append(report)
                    if len(found) > 2 * MOST_REPORTS:
                        found = list(report_history.thinned(found, MOST_REPORTS))
        except (Forbidden, Unauthorized):
            raise
        except (TrainerInfraError, TimeoutError):
            # A log that is gone, or a node that does not answer: what was read so far.
            continue
    return found
