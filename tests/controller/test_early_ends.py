"""The manager sees pods that were told to end and ended with 0, when they go or when it comes back.

Each story plays the kubelet, the Job controller and JobSet's as they write: a pod succeeds, its Job counts it
and lets go of it, and it is gone.
"""

import asyncio
import itertools
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from contextlib import aclosing, suppress
from typing import Any

import pytest
from typing_extensions import override

from tests.cluster.relayed import Relayed
from tests.controller.running_manager import (
    NAMESPACE,
    add_runtime,
    events,
    is_settled,
    job_set_ends,
    memory,
    running,
    there,
    train_job,
    until,
    with_condition,
    without_servers,
)
from tests.controller.test_lost_leadership import TERMS
from tests.fake_api_server.memory import Memory
from trainer_infra import names
from trainer_infra.controller.early_end_watch import PODS, SUCCEEDED, EarlyEndWatch
from trainer_infra.controller.informer import ObjectKey
from trainer_infra.controller.manager import Manager, ManagerSettings
from trainer_infra.json_values import JSONObject
from trainer_infra.kube import refusals
from trainer_infra.kube.client import KubeClient, ObjectChange, ObjectSelection
from trainer_infra.kube.resource import EVENT, JOB, JOBSET, POD, TRAIN_JOB
from trainer_infra.lifecycle import early_end
from trainer_infra.render.behaviour import OURS, REFERENCE

KEY = ObjectKey(NAMESPACE, "tj")
DISRUPTED = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "EvictionByEvictionAPI",
    "lastTransitionTime": "2026-11-26T00:00:00Z",
}
_SUFFIX = itertools.count(10_000)


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(work)


async def add_job(client: KubeClient) -> JSONObject:
    labels = {names.JOBSET_NAME_LABEL: "tj"}
    metadata = {"name": "tj-node-0", "namespace": NAMESPACE, "labels": labels}
    value = {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata}
    template = {"spec": {"containers": [{"name": "node", "image": "none"}]}}
    return await client.create({**value, "spec": {"template": template}}, manager="jobset")


async def add_pod(client: KubeClient, job: JSONObject, index: int) -> JSONObject:
    """A pod that runs."""
    labels = {
        names.JOBSET_NAME_LABEL: "tj",
        early_end.JOB_UID_LABEL: job["metadata"]["uid"],
        names.COMPLETION_INDEX: str(index),
    }
    metadata = {
        "name": f"tj-node-0-{index}-{next(_SUFFIX)}",
        "namespace": NAMESPACE,
        "labels": labels,
        "finalizers": [early_end.UNCOUNTED],
    }
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}
    spec = {"containers": [{"name": "node", "image": "none"}]}
    made = await client.create({**pod, "spec": spec}, manager="job-controller")
    await write_status(client, made, {"phase": "Running"})
    await add_event(client, made, "Started")
    return made


async def write_status(client: KubeClient, value: JSONObject, status: JSONObject) -> None:
    head = {key: value[key] for key in ("apiVersion", "kind")}
    metadata = {key: value["metadata"][key] for key in ("name", "namespace")}
    await client.merge_status({**head, "metadata": metadata, "status": status}, manager="kubelet")


async def add_event(client: KubeClient, pod: JSONObject, reason: str) -> None:
    name = pod["metadata"]["name"]
    message = {"Killing": "Stopping container node"}.get(reason, "")
    about = {"kind": "Pod", "name": name, "fieldPath": "spec.containers{node}"}
    value = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{name}.{reason.lower()}", "namespace": NAMESPACE},
        "involvedObject": {**about, "namespace": NAMESPACE},
    }
    await client.create({**value, "reason": reason, "message": message}, manager="kubelet")


async def succeed(client: KubeClient, pod: JSONObject, *, told: str = "") -> None:
    """A pod ends with 0, by itself or because it is told to; its Job counts it."""
    name = pod["metadata"]["name"]
    if told:
        conditions = [DISRUPTED] if told == "evicted" else []
        await write_status(client, pod, {"phase": "Running", "conditions": conditions})
        await client.delete(POD, name, NAMESPACE)
        await add_event(client, pod, "Killing")
    state = {"terminated": {"exitCode": 0, "finishedAt": "2999-01-01T00:00:00Z"}}
    await write_status(
        client,
        pod,
        {"phase": "Succeeded", "containerStatuses": [{"name": "node", "state": state}]},
    )
    await let_go(client, pod)


async def let_go(client: KubeClient, pod: JSONObject) -> None:
    metadata = {**{key: pod["metadata"][key] for key in ("name", "namespace")}, "finalizers": None}
    value = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}
    await client.merge(value, manager="job-controller")


async def complete(client: KubeClient, job: JSONObject, indexes: str = "0-1") -> None:
    """Both controllers say that they have."""
    done = {"type": "Complete", "status": "True", "reason": "CompletionsReached", "message": ""}
    await write_status(client, job, {"completedIndexes": indexes, "conditions": [done]})
    await job_set_ends(client)


Story = Callable[[KubeClient, JSONObject, list[JSONObject]], Awaitable[None]]


async def two_nodes(client: KubeClient) -> tuple[JSONObject, list[JSONObject]]:
    with suppress(refusals.Exists):
        await add_runtime(client)
    await client.create(train_job(), manager="user")
    await there(client, JOBSET)
    job = await add_job(client)
    return job, [await add_pod(client, job, index) for index in (0, 1)]


async def end(client: KubeClient) -> tuple[str, str]:
    async def found() -> JSONObject | None:
        status = (await client.get(TRAIN_JOB, "tj", NAMESPACE)).get("status") or {}
        return next(iter(status.get("conditions") or ()), None)

    condition = await until(found)
    return condition["type"], condition["message"]


async def forget_events(client: KubeClient) -> None:
    """An hour passes, after which Kubernetes has no events any more."""
    for each in (await client.list(ObjectSelection(EVENT, NAMESPACE))).items:
        if each["involvedObject"]["kind"] == "Pod":
            await client.delete(EVENT, each["metadata"]["name"], NAMESPACE)


@pytest.mark.parametrize(
    ("told", "how"), [("deleted", "was deleted"), ("evicted", "was evicted from its node")]
)
def test_a_run_of_which_a_pod_ended_early_is_failed_though_an_hour_has_passed(
    told: str, how: str
) -> None:
    async def work() -> None:
        client = memory()
        async with running(client):
            job, (first, second) = await two_nodes(client)
            await succeed(client, second, told=told)
            name = second["metadata"]["name"]
            (event,) = await until(lambda: events(client, "EndedEarly"))
            assert f"pod {name} {how} and ended with 0, which Kubernetes" in event["message"]
            assert event["message"].endswith("the TrainJob will not be Complete")
            await forget_events(client)
            await succeed(client, first)
            await complete(client, job)
            failed = await with_condition(client, "Failed")
            assert failed["reason"] == "EndedEarly"
            assert failed["message"].startswith(f"pod {name} {how} and ended with 0, which")
            assert len(await events(client, "EndedEarly")) == 1

    run(work())


@pytest.mark.parametrize("moment", ["at once", "after an hour"])
def test_a_new_process_knows_what_the_one_before_saw(moment: str) -> None:
    async def work() -> None:
        client = memory()
        async with running(client):
            job, (first, second) = await two_nodes(client)
            await succeed(client, second, told="evicted")
            await until(lambda: events(client, "EndedEarly"))
        if moment == "after an hour":
            await forget_events(client)
        async with running(client):
            await succeed(client, first)
            await complete(client, job)
            assert "was evicted from its node and ended with 0" in (await end(client))[1]

    run(work())


def test_what_happened_while_no_process_was_there_events_tell() -> None:
    async def work() -> None:
        client = memory()
        async with running(client):
            job, (first, second) = await two_nodes(client)
        await succeed(client, second, told="deleted")
        await succeed(client, first)
        await complete(client, job)
        async with running(client):
            name = second["metadata"]["name"]
            kind, message = await end(client)
            assert kind == "Failed"
            assert message.startswith(f"pod {name} was told to end and ended with 0")

    run(work())


def test_what_happened_while_no_process_was_there_is_doubted_after_an_hour() -> None:
    async def work() -> None:
        client = memory()
        async with running(client):
            job, (first, second) = await two_nodes(client)
        await succeed(client, second, told="deleted")
        await succeed(client, first)
        await forget_events(client)
        async with running(client):
            await complete(client, job)
            kind, message = await end(client)
            assert kind == "Complete"
            assert "nothing is left of pod tj-node-0-1 that tells whether it was told" in message

    run(work())


async def by_itself(client: KubeClient, _job: JSONObject, pods: list[JSONObject]) -> None:
    """Nothing disturbs it."""
    for each in pods:
        await succeed(client, each)


async def removed_afterwards(client: KubeClient, _job: JSONObject, pods: list[JSONObject]) -> None:
    """A node is drained on which a pod has ended, and the other one goes on."""
    await succeed(client, pods[1])
    await client.delete(POD, pods[1]["metadata"]["name"], NAMESPACE)
    await succeed(client, pods[0])


async def made_anew(client: KubeClient, job: JSONObject, pods: list[JSONObject]) -> None:
    """A pod ends with 143, and its Job makes another one."""
    await client.delete(POD, pods[1]["metadata"]["name"], NAMESPACE)
    await add_event(client, pods[1], "Killing")
    await write_status(client, pods[1], {"phase": "Failed"})
    await let_go(client, pods[1])
    for each in (pods[0], await add_pod(client, job, 1)):
        await succeed(client, each)


async def suspended(client: KubeClient, job: JSONObject, pods: list[JSONObject]) -> None:
    """The Job controller lets go of a pod before it deletes it, so it counts for nothing."""
    await let_go(client, pods[1])
    metadata = {"name": pods[1]["metadata"]["name"], "namespace": NAMESPACE}
    held = {"apiVersion": "v1", "kind": "Pod", "metadata": {**metadata, "finalizers": ["a/b"]}}
    await client.merge(held, manager="kubelet")
    await client.delete(POD, metadata["name"], NAMESPACE)
    await add_event(client, pods[1], "Killing")
    await succeed(client, pods[1])
    for each in (pods[0], await add_pod(client, job, 1)):
        await succeed(client, each)


async def restarted(client: KubeClient, _job: JSONObject, pods: list[JSONObject]) -> None:
    """JobSet makes its Job anew, and the pods of the one before end as they are told."""
    await client.delete(JOB, "tj-node-0", NAMESPACE)
    for each in pods:
        await succeed(client, each, told="deleted")


@pytest.mark.parametrize("story", [by_itself, removed_afterwards, made_anew, suspended, restarted])
@pytest.mark.parametrize("hour", [False, True])
def test_a_run_whose_pods_all_reached_their_end_is_complete(story: Story, hour: bool) -> None:
    async def work() -> None:
        client = memory()
        async with running(client) as manager:
            await add_runtime(client)
            await is_settled(client, manager)
            # Of what was made after its watch began it is sure, and creations are whole seconds.
            await asyncio.sleep(1.1)
            job, pods = await two_nodes(client)
            await story(client, job, pods)
            if story is restarted:
                job = await add_job(client)
                for index in (0, 1):
                    await succeed(client, await add_pod(client, job, index))
            if hour:
                await forget_events(client)
            await complete(client, job)
            assert await end(client) == ("Complete", "jobset completed successfully")
            assert await events(client, "EndedEarly") == []

    run(work())


def test_like_the_reference_nobody_looks() -> None:
    async def work() -> None:
        client = Asked(memory())
        async with running(client, REFERENCE):
            job, pods = await two_nodes(client)
            for each in pods:
                await succeed(client, each, told="evicted")
            await complete(client, job)
            assert (await end(client))[0] == "Complete"
        assert client.asked == []

    run(work())


class Asked(Relayed):
    """Notes what is asked of pods, Jobs and events, by lists and watches; refuses where a test says so."""

    def __init__(self, client: KubeClient) -> None:
        super().__init__(client)
        self.asked: list[str] = []
        self.refused = False

    @override
    async def sent(self, request: Coroutine[Any, Any, Any], verb: str) -> Any:
        return await request

    def note(self, verb: str, selection: ObjectSelection) -> None:
        if selection.resource in {POD, JOB, EVENT}:
            self.asked.append(f"{verb} {selection.resource.plural} {selection.fields}".strip())
            if (
                self.refused
                and selection.resource != JOB
                and "jobset-name=" not in selection.labels
            ):
                raise refusals.of_status(403, {}, "asked by a test")

    @override
    async def pages(self, selection: ObjectSelection) -> AsyncGenerator[Any, None]:
        self.note("list", selection)
        async with aclosing(super().pages(selection)) as pages:
            async for each in pages:
                yield each

    @override
    async def list(self, selection: ObjectSelection) -> Any:
        self.note("list", selection)
        return await super().list(selection)

    @override
    async def watch(
        self, selection: ObjectSelection, since: str
    ) -> AsyncGenerator[ObjectChange, None]:
        self.note("watch", selection)
        async with aclosing(super().watch(selection, since)) as changes:
            async for each in changes:
                yield each


def test_a_run_costs_two_lists_at_its_end_and_all_runs_one_watch() -> None:
    async def work() -> None:
        client = Asked(memory())
        async with running(client):
            job, pods = await two_nodes(client)
            begun = list(client.asked)
            for each in pods:
                await succeed(client, each)
            await complete(client, job)
            assert (await end(client))[0] == "Complete"
        assert begun == ["list pods status.phase=Succeeded", "watch pods status.phase=Succeeded"]
        assert client.asked[len(begun) :] == ["list pods", "list jobs"]

    run(work())


def test_an_account_without_the_new_rights_sees_what_is_there_and_runs_end() -> None:
    """Its ClusterRole may be of an earlier release."""

    async def work() -> None:
        client = Asked(memory())
        client.refused = True
        async with running(client):
            job, (first, second) = await two_nodes(client)
            await succeed(client, second, told="evicted")
            await succeed(client, first)
            await complete(client, job)
            kind, message = await end(client)
            assert (kind, "nothing is left of pod tj-node-0-1" in message) == ("Complete", True)

    run(work())


def test_a_replica_that_waits_sees_what_happens_while_nobody_leads() -> None:
    async def work() -> None:
        client = memory()
        settings = ManagerSettings(without_servers({"leader_election": TERMS}), OURS)
        first = asyncio.create_task(Manager(client, settings).run())
        job, pods = await two_nodes(client)
        other = Manager(client, settings)
        second = asyncio.create_task(other.run())
        await asyncio.sleep(0.2)
        # It is killed: its Lease stays for three seconds.
        first.cancel()
        await asyncio.wait([first])
        await succeed(client, pods[1], told="evicted")
        await forget_events(client)
        await until(lambda: events(client, "EndedEarly"))
        await succeed(client, pods[0])
        await complete(client, job)
        assert "was evicted from its node and ended with 0" in (await end(client))[1]
        other.stop()
        await second

    run(work())


class ShortWatch(Memory):
    """A watch of pods that the server forgets once."""

    forgets = True

    @override
    async def watch(
        self, selection: ObjectSelection, since: str
    ) -> AsyncGenerator[ObjectChange, None]:
        if selection == SUCCEEDED and self.forgets:
            self.forgets = False
            raise refusals.of_status(410, {"reason": "Expired"}, "watched by a test")
        async with aclosing(super().watch(selection, since)) as changes:
            async for each in changes:
                yield each


def test_a_watch_that_is_too_old_begins_anew_and_is_not_whole_for_what_was_before() -> None:
    async def work() -> None:
        client, seen = ShortWatch(), list[ObjectKey]()
        watch = EarlyEndWatch(client)
        task = asyncio.create_task(watch.run(seen.append))
        assert not watch.is_whole_since("2999-01-01T00:00:00Z")
        job = await add_job(client)

        async def has_seen() -> bool:
            await succeed(client, await add_pod(client, job, 0), told="deleted")
            await asyncio.sleep(0.01)
            return bool(seen)

        await until(has_seen)
        assert watch.is_whole_since("2999-01-01T00:00:00Z")
        assert not watch.is_whole_since("2026-01-01T00:00:00Z")
        task.cancel()
        await asyncio.wait([task])

    run(work())


def test_what_is_kept_does_not_grow_with_the_pods_of_a_cluster() -> None:
    async def work() -> None:
        client, seen = memory(), list[ObjectKey]()
        watch = EarlyEndWatch(client)
        task = asyncio.create_task(watch.run(seen.append))
        await asyncio.sleep(0.05)
        job = await add_job(client)
        for number in range(3 * PODS):
            told = "" if number % 2 else "deleted"
            await succeed(client, await add_pod(client, job, number), told=told)
        await asyncio.sleep(0.05)
        assert len(seen) == 3 * PODS / 2
        assert len(watch.pods(KEY)) == PODS
        watch.forget(KEY)
        assert watch.pods(KEY) == ()
        task.cancel()
        await asyncio.wait([task])

    run(work())
