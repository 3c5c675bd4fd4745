"""The manager brings TrainJobs to their end, whatever is there before and whatever goes in between."""

import asyncio
from collections.abc import AsyncGenerator, Coroutine
from contextlib import aclosing
from typing import Any

from typing_extensions import override

from tests.cluster.relayed import Relayed
from tests.controller.running_manager import (
    NAMESPACE,
    add_runtime,
    completed,
    events,
    is_settled,
    job_set_ends,
    memory,
    running,
    there,
    train_job,
    until,
    with_condition,
)
from tests.fake_api_server.memory import Memory
from tests.fake_api_server.served_kinds import KINDS
from trainer_infra.controller import configuration
from trainer_infra.controller.leader_election import LEASE
from trainer_infra.json_values import JSONObject
from trainer_infra.kube import refusals
from trainer_infra.kube.client import ObjectChange, ObjectSelection
from trainer_infra.kube.resource import (
    CLUSTER_TRAINING_RUNTIME,
    CONFIG_MAP,
    JOBSET,
    SECRET,
    TRAIN_JOB,
)


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(work)


def managers(value: JSONObject) -> list[tuple[str, str]]:
    return [(each["manager"], each["operation"]) for each in value["metadata"]["managedFields"]]


class Counted(Relayed):
    """Counts writes, and refuses those that a test names."""

    writes = 0
    refused: refusals.Answer | None = None

    @override
    async def sent(self, request: Coroutine[Any, Any, Any], verb: str) -> Any:
        if verb not in {"get", "list"}:
            self.writes += 1
        if verb == "apply" and self.refused is not None:
            request.close()
            raise self.refused
        return await request


class LateDeletions(Memory):
    """Watches of TrainJobs do not hear of deletions."""

    @override
    async def watch(
        self, selection: ObjectSelection, since: str
    ) -> AsyncGenerator[ObjectChange, None]:
        async with aclosing(super().watch(selection, since)) as changes:
            async for change in changes:
                if selection.resource != TRAIN_JOB or change.type != "DELETED":
                    yield change


def test_a_trainjob_that_is_deleted_gets_no_second_jobset_though_its_watch_is_late() -> None:
    """The garbage collector's deletion of the JobSet may be heard first: 3 of 5,000 had two."""

    async def work() -> None:
        client = LateDeletions((*KINDS, LEASE))
        await add_runtime(client)
        async with running(client) as manager:
            await client.create(train_job(suspend=True), manager="user")
            await with_condition(client, "Suspended")
            await is_settled(client, manager)
            await client.delete(TRAIN_JOB, "tj", NAMESPACE)
            await client.delete(JOBSET, "tj", NAMESPACE)
            await is_settled(client, manager, "later")
            listed = (await client.list(ObjectSelection(JOBSET, NAMESPACE))).items
        assert sorted(each["metadata"]["name"] for each in listed) == ["later", "marker"]

    run(work())


def test_every_child_of_a_trainjob_has_one_owner_of_its_fields() -> None:
    async def work() -> None:
        client = memory()
        await add_runtime(client)
        async with running(client):
            stored = await client.create(train_job(), manager="user")
            jobset = await there(client, JOBSET)
            snapshot = await there(client, CONFIG_MAP, "tj-runtime-snapshot")
        assert managers(jobset) == [("trainer", "Apply")]
        assert managers(snapshot) == [("trainer", "Update")]
        for each in (jobset, snapshot):
            (owner,) = each["metadata"]["ownerReferences"]
            assert (owner["uid"], owner["controller"]) == (stored["metadata"]["uid"], True)

    run(work())


def test_a_finished_trainjob_is_not_run_again_when_its_jobset_vanishes() -> None:
    async def work() -> None:
        client = memory()
        await add_runtime(client)
        async with running(client) as manager:
            ended = await completed(client)
            assert ended["reason"] == "AllJobsCompleted"
            await client.delete(JOBSET, "tj", NAMESPACE)
            await is_settled(client, manager)
            left = (await client.list(ObjectSelection(JOBSET))).items
            assert [each["metadata"]["name"] for each in left] == ["marker"]
        async with running(client) as manager:
            await is_settled(client, manager, "after-restart")
            left = (await client.list(ObjectSelection(JOBSET))).items
            assert {each["metadata"]["name"] for each in left} == {"marker", "after-restart"}

    run(work())


def test_a_runtime_that_comes_later_wakes_those_that_wait_for_it() -> None:
    async def work() -> None:
        client = memory()
        async with running(client):
            await client.create(train_job(), manager="user")

            async def missing() -> list[JSONObject]:
                return await events(client, "TrainJobResourcesCreationFailed")

            (event,) = await until(missing)
            assert "not found ClusterTrainingRuntime specified in TrainJob" in event["message"]
            await add_runtime(client)
            await there(client, JOBSET)

    run(work())


def test_a_new_process_writes_nothing_where_nothing_changed() -> None:
    async def work() -> None:
        client = memory()
        await add_runtime(client)
        async with running(client):
            for name in ("a", "b"):
                await client.create(train_job(name), manager="user")
                await there(client, JOBSET, name)
            await job_set_ends(client, "b")
            await with_condition(client, "Complete", "b")
        counted = Counted(client)
        async with running(counted) as manager:

            async def looked() -> bool:
                return (
                    manager.metrics.registry.get_sample_value(
                        "trainer_controller_trainjobs", {"state": "Complete"}
                    )
                    == 1.0
                    and not manager.queue.state().ready
                )

            await until(looked)
        assert counted.writes == 0

    run(work())


def test_a_trainjob_keeps_the_runtime_of_its_snapshot_over_a_restart() -> None:
    async def work() -> None:
        client = memory()
        await add_runtime(client)
        async with running(client):
            await client.create(train_job(suspend=True), manager="user")
            await there(client, JOBSET)
        found = await client.get(CLUSTER_TRAINING_RUNTIME, "jax-distributed")
        pod = found["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
        pod["spec"]["containers"][0]["image"] = "example.com/other:1"
        head = {key: found[key] for key in ("apiVersion", "kind", "spec")}
        metadata = {"metadata": {"name": "jax-distributed"}}
        await client.apply({**head, **metadata}, manager="admin", force=True)
        async with running(client):
            await client.apply(train_job(suspend=False), manager="user", force=True)

            async def resumed() -> JSONObject | None:
                value = await client.get(JOBSET, "tj", NAMESPACE)
                return None if value["spec"].get("suspend") else value

            jobset = await until(resumed)
        assert "example.com/other:1" not in str(jobset)

    run(work())


def test_what_the_server_refuses_is_an_event_and_the_status_is_written_all_the_same() -> None:
    async def work() -> None:
        client = memory()
        await add_runtime(client)
        counted = Counted(client)
        counted.refused = refusals.of_status(403, {"message": "denied by a webhook"}, "apply")
        async with running(counted):
            await client.create(train_job(suspend=True), manager="user")

            async def failed() -> list[JSONObject]:
                return await events(client, "TrainJobResourcesCreationFailed")

            (event,) = await until(failed)
            assert "denied by a webhook" in event["message"]
            await with_condition(client, "Suspended")
            counted.refused = None
            await there(client, JOBSET)
        assert len(await failed()) == 1

    run(work())


def test_keys_are_made_once_and_no_secret_is_ever_read() -> None:
    class Blind(Counted):
        @override
        async def get(self, resource: Any, name: str, namespace: str = "") -> JSONObject:
            assert resource != SECRET
            return await super().get(resource, name, namespace)

    async def work() -> None:
        client = memory()
        await add_runtime(client)
        await add_runtime(client, "deepspeed-distributed")
        for start in range(2):
            async with running(Blind(client)) as manager:
                if start == 0:
                    job = train_job(runtime="deepspeed-distributed", suspend=True)
                    await client.create(job, manager="user")
                await there(client, JOBSET)
                first = await there(client, SECRET, "tj-mpi-ssh-auth")
                await client.apply(
                    {**train_job(runtime="deepspeed-distributed"), "spec": {"suspend": False}},
                    manager="user",
                    force=True,
                )
                await is_settled(client, manager, f"marker-{start}")
                again = await client.get(SECRET, "tj-mpi-ssh-auth", NAMESPACE)
                assert again["data"] == first["data"]

    run(work())


def test_a_trainjob_made_again_under_its_name_is_not_ended_by_the_jobset_before() -> None:
    async def work() -> None:
        client = memory()
        await add_runtime(client)
        async with running(client) as manager:
            await completed(client)
            await client.delete(TRAIN_JOB, "tj", NAMESPACE)
            second = await client.create(train_job(), manager="user")
            await is_settled(client, manager)
            found = await client.get(TRAIN_JOB, "tj", NAMESPACE)
            assert "conditions" not in (found.get("status") or {})
            client.collect_garbage()

            async def its_own() -> bool:
                value = await client.get(JOBSET, "tj", NAMESPACE)
                (owner,) = value["metadata"]["ownerReferences"]
                return bool(owner["uid"] == second["metadata"]["uid"])

            await until(its_own)

    run(work())


def test_a_new_process_begins_with_what_has_no_jobset() -> None:
    class Noted(Counted):
        verbs: tuple[str, ...] = ()

        @override
        async def sent(self, request: Coroutine[Any, Any, Any], verb: str) -> Any:
            self.verbs = (*self.verbs, verb)
            return await super().sent(request, verb)

    async def work() -> None:
        client = memory()
        await add_runtime(client)
        async with running(client):
            for number in range(60):
                await client.create(train_job(f"a-{number}"), manager="user")
            for number in range(60):
                await there(client, JOBSET, f"a-{number}")
        await client.create(train_job("z-new"), manager="user")
        noted = Noted(client)
        async with running(noted):
            await there(client, JOBSET, "z-new")
        assert noted.verbs.index("create") < configuration.WORKERS

    run(work())
