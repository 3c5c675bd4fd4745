"""The last lines of pods' logs, for progress and for why a pod failed.

What cannot be read (no right to, not started, gone) is nothing.
"""

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from typing import Final

from trainer_infra.errors import TrainerInfraError
from trainer_infra.json_values import JSONObject
from trainer_infra.kube.client import KubeClient, LogOf
from trainer_infra.runs import pods as pod_facts
from trainer_infra.runs.terminal_lines import lines_of

TAIL: Final = 100
"""Lines that are read: reports stand among others."""
PODS: Final = 16
"""Pods whose logs are read at most."""
WITHIN: Final = 3.0
"""Seconds for reading them; a node may not answer."""


async def of_pods_that_ran(
    client: KubeClient, pods: Iterable[JSONObject]
) -> dict[str, tuple[str, ...]]:
    """The last lines by pod, of the first container of those that have started."""
    wanted = [each for each in pods if pod_facts.started_at(each)][:PODS]
    found = await asyncio.gather(*(of_container(client, each) for each in wanted))
    return {pod["metadata"]["name"]: lines for pod, lines in zip(wanted, found, strict=True)}


async def of_container(client: KubeClient, pod: JSONObject, container: str = "") -> tuple[str, ...]:
    """The last lines of a container; of the first, which is the one that trains, unless named."""
    metadata = pod["metadata"]
    container = container or pod["spec"]["containers"][0]["name"]
    wanted = LogOf(metadata["namespace"], metadata["name"], container, tail=TAIL)
    with suppress(TrainerInfraError, TimeoutError):
        async with asyncio.timeout(WITHIN):
            return tuple([each async for line in client.logs(wanted) for each in lines_of(line)])
    return ()
