"""What our client of an API server costs, on a real one without nodes, as JSON.

The server is started for it (`make apiserver`), with etcd and the client on the same machine, so
that requests per second are mostly the server's work; the processor time is this process's alone.
docs/decisions/0009-kube-transport.md compares it with other clients. Each number is the median of
the rounds.
"""

import argparse
import asyncio
import json
import statistics
import time
from collections.abc import Awaitable, Callable, Iterable
from contextlib import aclosing
from typing import Any, Final

from from_source.cluster import apiserver
from trainer_infra.kube import http
from trainer_infra.kube.client import KubeClient, ObjectSelection
from trainer_infra.kube.resource import JOBSET

JSON = dict[str, Any]

AT_ONCE: Final = 16
"""Requests in flight."""
NAMESPACE: Final = "bench"
MANAGER: Final = "trainer-infra-bench"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--objects", type=int, default=5_000, help="JobSets on the server")
    parser.add_argument("--requests", type=int, default=1_000, help="of each kind in a round")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of each measurement")
    arguments = parser.parse_args()
    with apiserver.running() as (_, kubeconfig):
        found = asyncio.run(
            _measured(str(kubeconfig), arguments.objects, arguments.requests, arguments.rounds)
        )
    print(json.dumps(found))


def job_set(number: int, stamp: str = "") -> JSON:
    """A suspended JobSet of 2.5 kB; `stamp` makes it another one."""
    env = [{"name": f"VAR_{index}", "value": "x" * 40} for index in range(30)]
    container = {"name": "node", "image": "example.com/train:1", "env": env}
    pod = {"restartPolicy": "Never", "containers": [container]}
    job = {"name": "node", "template": {"spec": {"template": {"spec": pod}}}}
    return {
        "apiVersion": JOBSET.api_version,
        "kind": JOBSET.kind,
        "metadata": {
            "name": f"js-{number:05}",
            "namespace": NAMESPACE,
            "labels": {"stamp": stamp or "none"},
        },
        "spec": {"suspend": True, "replicatedJobs": [job]},
    }


async def _measured(kubeconfig: str, objects: int, requests: int, rounds: int) -> JSON:
    client = await http.connect_client(kubeconfig)
    requests = min(requests, objects)
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    await client.create(namespace, manager=MANAGER)
    made = [job_set(number) for number in range(objects)]
    created = await _timed(
        lambda: _each(made, lambda value: client.create(value, manager=MANAGER)), objects
    )
    some = [value["metadata"]["name"] for value in made[:requests]]
    measured = [await _round(client, some, str(number)) for number in range(rounds)]
    measured_whole = [await _streams(client, objects) for _ in range(rounds)]
    await client.close()
    whole = [one | two for one, two in zip(measured, measured_whole, strict=True)]
    return {"create": created} | {
        what: _median([each[what] for each in whole]) for what in whole[0]
    }


async def _round(client: KubeClient, names: list[str], stamp: str) -> dict[str, JSON]:
    changed = [job_set(number, stamp) for number in range(len(names))]
    return {
        "get": await _timed(
            lambda: _each(names, lambda name: client.get(JOBSET, name, NAMESPACE)), len(names)
        ),
        "apply": await _timed(
            lambda: _each(changed, lambda v: client.apply(v, manager=MANAGER, force=True)),
            len(names),
        ),
    }


async def _streams(client: KubeClient, objects: int) -> dict[str, JSON]:
    chosen = ObjectSelection(JOBSET, NAMESPACE)

    async def listed() -> None:
        if len((await client.list(chosen)).items) != objects:
            raise SystemExit("the list of the benchmark is not whole")

    async def watched() -> None:
        left = objects
        async with aclosing(client.watch(chosen, "0")) as changes:
            async for _ in changes:
                left -= 1
                if left == 0:
                    return

    return {
        f"list of {objects:,}, objects": await _timed(listed, objects),
        f"watch of {objects:,}, events": await _timed(watched, objects),
    }


async def _each(items: Iterable[Any], do: Callable[[Any], Awaitable[object]]) -> None:
    """Do something for all items, `AT_ONCE` of them at a time."""
    waiting = iter(items)

    async def worker() -> None:
        for item in waiting:
            await do(item)

    await asyncio.gather(*(worker() for _ in range(AT_ONCE)))


async def _timed(work: Callable[[], Awaitable[None]], count: int) -> JSON:
    began, used = time.perf_counter(), time.process_time()
    await work()
    seconds, processor = time.perf_counter() - began, time.process_time() - used
    return {"per second": round(count / seconds), "cpu ms": round(1000 * processor / count, 3)}


def _median(found: list[JSON]) -> JSON:
    return {key: round(statistics.median(each[key] for each in found), 3) for key in found[0]}


if __name__ == "__main__":
    main()
