"""How fast the controller makes JobSets of TrainJobs, on a real API server without nodes, as JSON lines.

Run by `make bench-controller`. On one server, one after the other: a bare writer of the same three
objects (TrainJob, runtime snapshot, JobSet), which is the ceiling; `trainer-infra controller`; and with
PEER another controller, started as `PEER -config FILE -kubeconfig FILE`, once with a FILE that leaves its
requests as they are limited without one, as for ours, and once with a FILE that lets it make any number of
them. Webhooks are off for all. The last line is the verdict; it has the JobSets of both controllers compared
field by field.
"""

import argparse
import asyncio
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Sequence
from contextlib import aclosing, asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import psutil

from from_source.cluster import apiserver, controller_certificate
from from_source.cluster.process import Process
from tools.bench import core, field_comparison
from trainer_infra import catalog, names
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.json_values import JSONObject
from trainer_infra.kube import http
from trainer_infra.kube.client import KubeClient, ObjectSelection
from trainer_infra.kube.refusals import NotFound
from trainer_infra.kube.resource import CONFIG_MAP, EVENT, JOBSET, TRAIN_JOB
from trainer_infra.lifecycle import due_objects
from trainer_infra.render.behaviour import OURS
from trainer_infra.render.observed_objects import ObservedObjects

COUNTS: Final = (500, 2_000)
"""TrainJobs of a load."""
CLIENTS: Final = 20
"""That post them at a time."""
SINGLE: Final = 30
"""TrainJobs that are posted one after the other, each when the one before has its JobSet."""
NAMESPACE: Final = "bench"
RUNTIME: Final = "torch-distributed"
NODES: Final = 2
MANAGER: Final = "trainer-infra-bench"
LONGEST: Final = 600.0
"""Seconds for one load."""
READY: Final = "ready"
CONFIGURATION: Final[JSONObject] = {
    "apiVersion": "config.trainer.kubeflow.org/v1alpha1",
    "kind": "Configuration",
    "metrics": {"bindAddress": "0"},
    "health": {"healthProbeBindAddress": "0"},
    "certManagement": {"enable": False},
}
UNLIMITED: Final = {**CONFIGURATION, "clientConnection": {"qps": 10_000, "burst": 10_000}}
PEER: Final = "peer"
PEER_UNLIMITED: Final = "peer, unlimited requests"
TIMES_OF_PEER: Final = 3.0
OF_CEILING: Final = 0.7
P50_ALONE: Final = 0.29
RSS: Final = 100.0
"""What is asked for: times the peer's rate, part of the ceiling's, seconds, MiB at the largest load."""


@dataclass(frozen=True, slots=True)
class Controller:
    """One that is measured."""

    name: str
    command: Sequence[str]
    """Before its flags."""
    dashes: str
    """Before the name of a flag."""
    configuration: JSONObject = field(default_factory=lambda: CONFIGURATION)
    """Its file."""

    def arguments(self, config: Path, kubeconfig: Path) -> list[str]:
        """The whole command."""
        dash = self.dashes
        return [*self.command, f"{dash}config", str(config), f"{dash}kubeconfig", str(kubeconfig)]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer", default=os.environ.get("PEER", ""), help="another's binary")
    parser.add_argument("--counts", type=int, nargs="+", default=COUNTS, help="TrainJobs of a load")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of each load")
    arguments = parser.parse_args()
    program = str(Path(sys.executable).with_name("trainer-infra"))
    measured = [Controller("builtin", (program, "controller"), "--")]
    if arguments.peer:
        peer = Controller(PEER, (arguments.peer,), "-")
        measured += [peer, replace(peer, name=PEER_UNLIMITED, configuration=UNLIMITED)]
    with apiserver.running() as (_, kubeconfig):
        lines = asyncio.run(_measured(kubeconfig, measured, arguments.counts, arguments.rounds))
    print(json.dumps(_verdict(lines, bool(arguments.peer))))


async def _measured(
    kubeconfig: Path, controllers: Sequence[Controller], counts: Sequence[int], rounds: int
) -> list[dict[str, Any]]:
    """One line for each contestant and load, the median of the rounds; they take turns."""
    client = await http.connect_client(str(kubeconfig))
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    await client.create(namespace, manager=MANAGER)
    await client.apply(catalog.get(RUNTIME).to_wire(), manager=MANAGER, force=True)
    found: dict[tuple[str, int], list[dict[str, Any]]] = {}
    jobsets: dict[str, dict[str, JSONObject]] = {}
    for _ in range(rounds):
        for count in counts:
            found.setdefault(("ceiling", count), []).append(await _bare(client, count))
            await _emptied(client)
            for each in controllers:
                async with _running(each, kubeconfig, client) as process:
                    line = await _load(client, process, count)
                    if count == min(counts):
                        line |= await _alone(client)
                    jobsets[each.name] = await _job_sets(client)
                found.setdefault((each.name, count), []).append(line)
                await _emptied(client)
    await client.close()
    lines = [_median(name, count, each) for (name, count), each in found.items()]
    for line in lines:
        print(json.dumps(line), flush=True)
    compared = [jobsets[each] for each in ("builtin", PEER) if each in jobsets]
    differing = field_comparison.differing_fields(*compared) if len(compared) > 1 else {}
    return [*lines, {"contestant": "differences", "fields": differing}]


def train_job(name: str) -> JSONObject:
    """One of the TrainJobs."""
    wire = core.wire(RUNTIME, NODES)
    return {**wire, "metadata": {"name": name, "namespace": NAMESPACE}}


async def _bare(client: KubeClient, count: int) -> dict[str, Any]:
    """The three objects of each TrainJob, written as a controller writes them."""

    async def write(name: str) -> None:
        stored = await client.create(train_job(name), manager=MANAGER)
        job = TrainJob.from_wire(stored)
        made = due_objects.due_objects(job, catalog.get(RUNTIME), ObservedObjects(None), OURS)
        snapshot, jobset = made.objects
        await client.create(snapshot, manager=names.TRAINER_MANAGER)
        await client.apply(jobset, manager=names.TRAINER_MANAGER, force=True)

    began = time.perf_counter()
    await _each([f"job-{number}" for number in range(count)], write)
    return {"jobsets_per_second": count / (time.perf_counter() - began)}


async def _load(client: KubeClient, process: psutil.Process, count: int) -> dict[str, Any]:
    """Post TrainJobs from many clients, and see when each has its JobSet."""
    posted: dict[str, float] = {}
    cpu = _cpu_seconds(process)

    async def post(name: str) -> None:
        posted[name] = time.perf_counter()
        await client.create(train_job(name), manager=MANAGER)

    wanted = [f"job-{number}" for number in range(count)]
    async with _seen(client, set(wanted)) as seen:
        began = time.perf_counter()
        await _each(wanted, post)
        async with asyncio.timeout(LONGEST):
            times = await seen()
    latencies = sorted(times[name] - posted[name] for name in wanted)
    return {
        "jobsets_per_second": count / (max(times.values()) - began),
        "p50_seconds": latencies[len(latencies) // 2],
        "p99_seconds": latencies[int(len(latencies) * 0.99)],
        "rss_mib": sum(each.memory_info().rss for each in _tree(process)) / 2**20,
        "cpu_seconds": _cpu_seconds(process) - cpu,
    }


async def _alone(client: KubeClient) -> dict[str, Any]:
    """TrainJobs one after the other."""
    latencies = []
    for number in range(SINGLE):
        name = f"alone-{number}"
        async with _seen(client, {name}) as seen:
            began = time.perf_counter()
            await client.create(train_job(name), manager=MANAGER)
            async with asyncio.timeout(LONGEST):
                latencies.append((await seen())[name] - began)
    return {"p50_alone_seconds": statistics.median(latencies)}


@asynccontextmanager
async def _seen(
    client: KubeClient, wanted: set[str]
) -> AsyncIterator[Callable[[], Coroutine[Any, Any, dict[str, float]]]]:
    """Follow JobSets from here on; call what this gives for the time at which each one came."""
    selection = ObjectSelection(JOBSET, NAMESPACE)
    since = (await client.list(selection)).resource_version
    times: dict[str, float] = {}

    async def follow() -> None:
        async with aclosing(client.watch(selection, since)) as changes:
            async for change in changes:
                if change.type == "ADDED":
                    times[change.value["metadata"]["name"]] = time.perf_counter()
                    if wanted <= times.keys():
                        return

    following = asyncio.create_task(follow())

    async def seen() -> dict[str, float]:
        await following
        return times

    try:
        yield seen
    finally:
        following.cancel()


@asynccontextmanager
async def _running(
    controller: Controller, kubeconfig: Path, client: KubeClient
) -> AsyncIterator[psutil.Process]:
    """A controller that has made its first JobSet."""
    with tempfile.TemporaryDirectory() as folder, _certificate(controller):
        config = Path(folder) / "config.yaml"
        config.write_text(json.dumps(controller.configuration))
        process = Process(controller.arguments(config, kubeconfig), Path(folder))
        try:
            async with _seen(client, {READY}) as seen:
                await client.create(train_job(READY), manager=MANAGER)
                async with asyncio.timeout(LONGEST):
                    await seen()
            yield psutil.Process(process.pid)
        finally:
            process.kill()


@contextmanager
def _certificate(controller: Controller) -> Iterator[None]:
    """The reference's manager reads its certificate from files although no webhook is called."""
    if controller.name == "builtin":
        yield
    else:
        with controller_certificate.in_its_folder():
            yield


async def _job_sets(client: KubeClient) -> dict[str, JSONObject]:
    found = (await client.list(ObjectSelection(JOBSET, NAMESPACE))).items
    return {each["metadata"]["name"]: each for each in found}


async def _emptied(client: KubeClient) -> None:
    """Remove all that a round has made; there is no garbage collector."""
    for resource in (TRAIN_JOB, JOBSET, CONFIG_MAP, EVENT):
        found = (await client.list(ObjectSelection(resource, NAMESPACE))).items

        async def remove(name: str, resource: Any = resource) -> None:
            try:
                await client.delete(resource, name, NAMESPACE)
            except NotFound:
                return

        await _each([each["metadata"]["name"] for each in found], remove)


async def _each(items: Iterable[str], do: Callable[[str], Coroutine[Any, Any, None]]) -> None:
    """Do something for all items, `CLIENTS` of them at a time."""
    waiting = iter(items)

    async def worker() -> None:
        for item in waiting:
            await do(item)

    await asyncio.gather(*(worker() for _ in range(CLIENTS)))


def _tree(process: psutil.Process) -> list[psutil.Process]:
    return [process, *process.children(recursive=True)]


def _cpu_seconds(process: psutil.Process) -> float:
    times = [each.cpu_times() for each in _tree(process)]
    return sum(each.user + each.system for each in times)


def _median(name: str, count: int, rounds: Sequence[dict[str, Any]]) -> dict[str, Any]:
    keys = rounds[0]
    medians = {key: round(statistics.median(each[key] for each in rounds), 3) for key in keys}
    return {"contestant": name, "trainjobs": count, "rounds": len(rounds), **medians}


def _verdict(lines: Sequence[dict[str, Any]], with_peer: bool) -> dict[str, Any]:
    """What is reached of what is asked for, at the largest load where it says no other."""
    by_name = {(line["contestant"], line.get("trainjobs")): line for line in lines}
    counts = sorted({line["trainjobs"] for line in lines if "trainjobs" in line})
    last = {name: by_name[name, counts[-1]] for name in ("ceiling", "builtin")}
    found: dict[str, Any] = {}
    for count in counts:
        ours, ceiling = (by_name[name, count] for name in ("builtin", "ceiling"))
        part = ours["jobsets_per_second"] / ceiling["jobsets_per_second"]
        found[f"part of the ceiling at {count}"] = round(part, 2)
        for peer in (PEER, PEER_UNLIMITED) if with_peer else ():
            theirs = by_name[peer, count]["jobsets_per_second"]
            found[f"times the {peer} at {count}"] = round(ours["jobsets_per_second"] / theirs, 1)
    reached = [
        *(value >= OF_CEILING for key, value in found.items() if key.startswith("part")),
        *(value >= TIMES_OF_PEER for key, value in found.items() if f"the {PEER} at" in key),
        by_name["builtin", counts[0]]["p50_alone_seconds"] < P50_ALONE,
        last["builtin"]["rss_mib"] <= RSS,
        not lines[-1]["fields"],
    ]
    differences = lines[-1]["fields"]
    return {"verdict": all(reached), **found, "differing fields of JobSets": differences}


if __name__ == "__main__":
    main()
