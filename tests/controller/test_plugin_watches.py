"""Events of what plugins watch wake the TrainJobs that they concern, and no others."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

from typing_extensions import override

from tests.controller.running_manager import NAMESPACE, is_settled, running, there, train_job, until
from tests.fake_api_server.memory import Memory
from tests.fake_api_server.served_kinds import KINDS
from trainer_infra import catalog, names
from trainer_infra.api.runtime import Runtime
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.controller.child_memory import Child
from trainer_infra.controller.leader_election import LEASE
from trainer_infra.controller.plugin_watches import PluginWatches, Wakers
from trainer_infra.controller.runtime_lookup import RuntimeLookup
from trainer_infra.controller.train_job_reconciler import ControllerCaches
from trainer_infra.json_values import JSONObject
from trainer_infra.kube.client import ObjectChange, ObjectSelection
from trainer_infra.kube.resource import CONFIG_MAP, JOBSET, TRAIN_JOB, Resource
from trainer_infra.platform.gang_schedulers import gang_runtime
from trainer_infra.render.phases import Plugin, Watch
from trainer_infra.render.plugins import coscheduling

POD_GROUP = Resource(names.COSCHEDULING_API_VERSION, names.POD_GROUP, "podgroups")
LIMIT_RANGE = Resource("v1", "LimitRange", "limitranges")
RUNTIME_CLASS = Resource("node.k8s.io/v1", "RuntimeClass", "runtimeclasses", namespaced=False)
RACK = Resource("example.com/v1", "Rack", "racks")


class Watched(Memory):
    """Knows the kinds that are watched."""

    def __init__(self, *more: Resource) -> None:
        super().__init__((*KINDS, LEASE, *more))
        self.kinds: list[str] = []

    @override
    def watch(self, selection: ObjectSelection, since: str) -> AsyncGenerator[ObjectChange, None]:
        self.kinds.append(selection.resource.kind)
        return super().watch(selection, since)


def valued(
    resource: Resource, name: str, namespace: str = NAMESPACE, **more: Any
) -> dict[str, Any]:
    metadata = {"name": name, **({"namespace": namespace} if resource.namespaced else {}), **more}
    return {"apiVersion": resource.api_version, "kind": resource.kind, "metadata": metadata}


async def add_runtimes(client: Memory) -> None:
    """One with a gang whose pods have a RuntimeClass, and one without."""
    wire = gang_runtime(catalog.get("torch-distributed").to_wire(), "coscheduling", "scheduler")
    (job,) = wire["spec"]["template"]["spec"]["replicatedJobs"]
    job["template"]["spec"]["template"]["spec"]["runtimeClassName"] = "gvisor"
    for each in (wire, catalog.get("jax-distributed").to_wire()):
        await client.create(each, manager="admin")


class Heard:
    """What was told of events."""

    def __init__(self) -> None:
        self.woken: list[str] = []
        self.lost: list[tuple[str, Child]] = []

    async def until_woken(self, *jobs: str) -> None:
        """Return when exactly these were woken since the last time."""
        await until(lambda: asyncio.sleep(0.01, len(self.woken) >= len(jobs)))
        await asyncio.sleep(0.1)
        assert sorted(self.woken) == sorted(jobs)
        self.woken.clear()


@asynccontextmanager
async def followed(client: Watched, *plugins: Plugin) -> AsyncIterator[Heard]:
    """Three TrainJobs, and what is told of what their plugins watch."""
    await add_runtimes(client)
    caches = ControllerCaches.empty()
    for job in (
        train_job("held", "torch-distributed", suspend=True),
        train_job("runs", "torch-distributed"),
        train_job("other", "jax-distributed", suspend=True),
    ):
        caches.train_jobs.put(await client.create(job, manager="user"))
    heard = Heard()
    watches = PluginWatches(
        client,
        plugins,
        caches.train_jobs,
        RuntimeLookup(client, caches.runtimes),
        Wakers(
            lambda key: heard.woken.append(key.name),
            lambda key, child: heard.lost.append((key.name, child)),
        ),
    )
    following = asyncio.create_task(watches.run())
    expected = {each.kind for plugin in plugins for each in plugin.watches} - {CONFIG_MAP.kind}
    await until(lambda: asyncio.sleep(0.01, expected <= set(client.kinds)))
    try:
        yield heard
    finally:
        following.cancel()
        with suppress(asyncio.CancelledError):
            await following


def test_a_pod_group_that_is_deleted_comes_back() -> None:
    async def work() -> None:
        client = Watched()
        await add_runtimes(client)
        async with running(client) as manager:
            await client.create(train_job(runtime="torch-distributed"), manager="user")
            before = await there(client, POD_GROUP)
            await there(client, JOBSET)
            await is_settled(client, manager)
            await client.delete(POD_GROUP, "tj", NAMESPACE)

            async def is_another() -> bool:
                now = await client.get(POD_GROUP, "tj", NAMESPACE)
                return bool(now["metadata"]["uid"] != before["metadata"]["uid"])

            await until(is_another)

    asyncio.run(work())


def test_what_changes_the_resources_of_pods_wakes_suspended_trainjobs() -> None:
    """As the reference: a LimitRange those of its namespace, a RuntimeClass those that use it."""

    async def work() -> None:
        client = Watched(LIMIT_RANGE, RUNTIME_CLASS)
        await client.create(valued(LIMIT_RANGE, "before"), manager="admin")
        async with followed(client, coscheduling.PLUGIN) as heard:
            await client.create(valued(LIMIT_RANGE, "far", "kube-system"), manager="admin")
            await client.create(valued(RUNTIME_CLASS, "kata"), manager="admin")
            await client.create(valued(LIMIT_RANGE, "near"), manager="admin")
            await heard.until_woken("held", "other")
            await client.delete(LIMIT_RANGE, "near", NAMESPACE)
            await heard.until_woken("held", "other")
            await client.delete(LIMIT_RANGE, "before", NAMESPACE)
            await heard.until_woken("held", "other")
            await client.create(valued(RUNTIME_CLASS, "gvisor"), manager="admin")
            await heard.until_woken("held")

    asyncio.run(work())


def test_a_kind_of_another_package_wakes_the_trainjob_that_owns_it() -> None:
    async def work() -> None:
        racks = Plugin("Racks", lambda _: True, watches=(Watch(RACK.api_version, RACK.kind),))
        client = Watched(RACK)
        async with followed(client, racks) as heard:
            job = await client.get(TRAIN_JOB, "runs", NAMESPACE)
            owner = {
                "apiVersion": TRAIN_JOB.api_version,
                "kind": TRAIN_JOB.kind,
                "name": "runs",
                "uid": job["metadata"]["uid"],
                "controller": True,
            }
            await client.create(valued(RACK, "a"), manager="admin")
            await client.create(valued(RACK, "b", ownerReferences=[owner]), manager="trainer")
            await heard.until_woken("runs")
            await client.delete(RACK, "b", NAMESPACE)
            await heard.until_woken("runs")
            assert heard.lost == [("runs", (RACK.api_version, RACK.kind, "b"))]

    asyncio.run(work())


def test_a_plugin_that_fails_at_one_object_hears_of_the_next() -> None:
    async def work() -> None:
        def wakes(value: JSONObject, job: TrainJob, _: Runtime) -> bool:
            assert value["metadata"]["name"] != "bad"
            return job.metadata.name == "runs"

        watch = Watch(RACK.api_version, RACK.kind, wakes)
        client = Watched(RACK)
        async with followed(client, Plugin("Racks", lambda _: True, watches=(watch,))) as heard:
            await client.create(valued(RACK, "bad"), manager="admin")
            await client.create(valued(RACK, "good"), manager="admin")
            await heard.until_woken("runs")

    asyncio.run(work())


def test_config_maps_are_followed_for_no_plugin() -> None:
    """Who may watch them may read those of all users."""

    async def work() -> list[str]:
        client = Watched(RACK)
        watches = tuple(Watch(each.api_version, each.kind) for each in (CONFIG_MAP, RACK))
        async with followed(client, Plugin("Some", lambda _: True, watches=watches)):
            return client.kinds

    assert asyncio.run(work()) == [RACK.kind]
