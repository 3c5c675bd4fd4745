"""What the training of a run in a cluster reported, read from the logs of its pods while they are there.

A report is a line of a log, whether a server takes reports or not.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from trainer_infra.cluster import container_logs
from trainer_infra.cluster.container_logs import ContainerLog
from trainer_infra.errors import TrainerInfraError
from trainer_infra.kube.client import KubeClient
from trainer_infra.kube.refusals import Forbidden, Unauthorized
from trainer_infra.render import resolve
from trainer_infra.runs import pods as pod_facts
from trainer_infra.runs import report_history, reports, sentences
from trainer_infra.runs.redaction import Redaction
from trainer_infra.runs.report_history import PastReport
from trainer_infra.runs.run import Run

MOST: Final = 5000
"""Reports of a container that are kept; a log may hold a hundred thousand."""
WITHIN: Final = 60.0
"""Seconds for reading a log; a node may not answer."""


async def reports_in_logs(
    client: KubeClient, run: Run, hidden: Redaction
) -> tuple[PastReport, ...]:
    """The reports in the logs of the first pods that train, of each pod in order of time.

    Args:
        client: the cluster.
        run: whose; its UID is that of what owns its JobSet.
        hidden: values of the run's secrets, which no metric shows.

    Raises:
        Refused: This account may not read logs.
    """
    jobset, pods = await container_logs.jobset_and_pods(client, run)
    training = resolve.trainer_jobs((jobset or {}).get("spec") or {})
    first = [each for each in pods if pod_facts.step_of(each) in training][: container_logs.PODS]
    ran = container_logs.started_containers(jobset, tuple(first))
    found = await asyncio.gather(*(_of_container(client, run, each, hidden) for each in ran))
    return tuple(each for history in found for each in history)


async def _of_container(
    client: KubeClient, run: Run, container: ContainerLog, hidden: Redaction
) -> Sequence[PastReport]:
    """The reports of a container: of its try before this one first, where it was started again."""
    node = sentences.short_pod_name(run, pod_facts.host_name(container.pod))
    found: list[PastReport] = []
    tries = (True, False) if pod_facts.restart_count(container.pod) else (False,)
    for previous in tries:
        try:
            async with asyncio.timeout(WITHIN):
                async for line in client.logs(container.log(previous=previous)):
                    if (status := reports.of_line(line)) is None:
                        continue
                    report = report_history.past_report(node, status)
                    report = replace(report, metrics=hidden.texts(report.metrics))
                    # A report that did not reach the server is sent again, and so printed again.
                    if found[-1:] != [report]:
                        found.append(report)
                    if len(found) > 2 * MOST:
                        found = list(report_history.thinned(found, MOST))
        except (Forbidden, Unauthorized):
            raise
        except (TrainerInfraError, TimeoutError):
            # A log that is gone, or a node that does not answer: what was read so far.
            continue
    return found
