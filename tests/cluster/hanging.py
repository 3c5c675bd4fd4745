"""A process that submits or deletes a run and hangs at one write until SIGUSR1.

    python hanging.py KUBECONFIG NAMESPACE submit|'delete UID' 'before N'|'after N'

Exits with 0 when it came to its end, with 1 when it was refused.
"""

import asyncio
import itertools
import signal
import sys
from collections.abc import Coroutine
from typing import Any, TypeVar

from typing_extensions import override

from tests.cluster.relayed import Relayed
from tests.cluster.submissions import SECRET, Job
from trainer_infra.cluster import delete, submit
from trainer_infra.cluster.provider.record_store import RECORDS
from trainer_infra.errors import TrainerInfraError
from trainer_infra.kube import http
from trainer_infra.kube.client import KubeClient
from trainer_infra.runs.run import RunKey

T = TypeVar("T")


class Hanging(Relayed):
    """A client whose n-th write hangs before or after the server has done it."""

    def __init__(self, client: KubeClient, point: str, go_on: asyncio.Event) -> None:
        super().__init__(client)
        self._go_on = go_on
        self._when, number = point.split()
        self._number = int(number)
        self._count = itertools.count(1)

    @override
    async def sent(self, request: Coroutine[Any, Any, T], verb: str) -> T:
        here = verb not in {"get", "list"} and next(self._count) == self._number
        if here and self._when == "before":
            await self._hang()
        result = await request
        if here and self._when == "after":
            await self._hang()
        return result

    async def _hang(self) -> None:
        print("hangs", flush=True)  # noqa: T201  the test waits for it
        await self._go_on.wait()


async def main(kubeconfig: str, namespace: str, verb: str, point: str) -> int:
    go_on = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, go_on.set)
    client = Hanging(await http.connect_client(kubeconfig, None), point, go_on)
    try:
        if verb == "submit":
            job = Job(namespace, secrets={"token": SECRET})
            await submit.submit_run(client, RECORDS, job.submission(), within=60)
        else:
            key = RunKey(namespace, "tj", verb.removeprefix("delete "))
            await delete.delete_run(client, RECORDS, key, 30)
    except TrainerInfraError as error:
        print(error)  # noqa: T201  for whoever reads a failed test
        return 1
    finally:
        await client.close()
    return 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(*sys.argv[1:])))
