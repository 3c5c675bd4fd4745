"""What pods mount: whose it is, what a killed submit leaves of it, and who collects that."""

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.cluster.submissions import CODE, OTHER, SECRET, Job
from tests.cluster.trainer import ReconciledCluster
from tests.cluster.world import World
from tests.fake_api_server.memory import Memory
from trainer_infra import catalog, names
from trainer_infra.cluster import submit, unowned_objects
from trainer_infra.cluster.controller import job_store
from trainer_infra.cluster.controller.job_store import JOBS
from trainer_infra.errors import InvalidInput, Refused
from trainer_infra.kube.refusals import NotFound
from trainer_infra.kube.resource import CONFIG_MAP, TRAIN_JOB
from trainer_infra.kube.resource import SECRET as SECRETS

CODE_NAME = f"tj-code-{CODE.digest()}"


def stored(job: Job) -> list[dict[str, Any]]:
    """What we store of a job, without values."""
    submission = job.submission()
    found = [each for each in submission.objects if job_store.is_written(each, "tj")]
    found.sort(key=lambda each: each["kind"] == names.TRAIN_JOB)
    return [{key: each[key] for key in each if key != "stringData"} for each in found]


def left_behind(world: World, job: Job) -> None:
    """What a submit leaves that was killed before it made the TrainJob."""
    for each in stored(job)[:-1]:
        world.make(each["kind"], each)


def test_what_a_killed_submit_left_is_used_by_the_next_one_of_the_run(
    controlled: ReconciledCluster, world: World, job: Job
) -> None:
    job.secrets = {"env.TOKEN": SECRET}
    left_behind(world, job)
    run = controlled.submit(job.submission())
    for kind, name in (("ConfigMap", CODE_NAME), ("Secret", "tj-secret")):
        owners = world.there(kind, name)["metadata"]["ownerReferences"]
        assert [each["uid"] for each in owners] == [run.uid]
    assert set(world.there("Secret", "tj-secret")["data"]) == {"env.TOKEN"}


def test_what_another_owners_submit_left_is_not_taken(
    controlled: ReconciledCluster, world: World, job: Job
) -> None:
    left_behind(world, replace(job, owner=OTHER))
    with pytest.raises(Refused, match="exists and belongs to"):
        controlled.submit(job.submission())
    assert world.names("TrainJob") == []
    assert world.names("ConfigMap") == [CODE_NAME]


def test_a_submit_that_is_refused_removes_what_it_made(
    controlled: ReconciledCluster, world: World, job: Job
) -> None:
    job.secrets = {"env.TOKEN": SECRET}
    submission = job.submission()
    broken = [
        {**each, "spec": {**each["spec"], "trainer": {"numNodes": "two"}}}
        if each["kind"] == names.TRAIN_JOB
        else each
        for each in submission.objects
    ]
    with pytest.raises((InvalidInput, Refused), match="numNodes"):
        controlled.submit(replace(submission, objects=tuple(broken)))
    assert world.all_names() == {}


def test_a_submit_that_was_killed_before_it_owned_the_code_is_completed(
    controlled: ReconciledCluster, world: World, job: Job
) -> None:
    run = controlled.submit(job.submission())

    def without_owner(value: dict[str, Any]) -> None:
        value["metadata"].pop("ownerReferences")

    world.change("ConfigMap", CODE_NAME, without_owner)
    assert controlled.submit(job.submission()).uid == run.uid
    owners = world.there("ConfigMap", CODE_NAME)["metadata"]["ownerReferences"]
    assert [each["uid"] for each in owners] == [run.uid]


def test_a_secret_without_code_has_an_owner_from_its_birth_and_one_of_that_name_ends_the_submit(
    controlled: ReconciledCluster, world: World, job: Job
) -> None:
    job.code, job.secrets = None, {"env.TOKEN": SECRET}
    world.make("Secret", {"metadata": {"name": "tj-secret"}})
    with pytest.raises(Refused, match="tj-secret exists and belongs to"):
        controlled.submit(job.submission())
    assert (world.names("TrainJob"), world.all_names()) == ([], {"Secret": ["tj-secret"]})
    world.client.delete(world.path("Secret", "tj-secret"))
    run = controlled.submit(job.submission())
    owners = world.there("Secret", "tj-secret")["metadata"]["ownerReferences"]
    assert [each["uid"] for each in owners] == [run.uid]


async def there(client: Memory) -> list[str]:
    found = []
    for kind, name in ((CONFIG_MAP, CODE_NAME), (SECRETS, "tj-secret")):
        try:
            await client.get(kind, name, "default")
        except NotFound:
            continue
        found.append(name)
    return found


@pytest.mark.parametrize(
    ("hours", "with_job", "left"),
    [
        (0.9, False, [CODE_NAME, "tj-secret"]),
        (1.1, False, []),
        (1.1, True, [CODE_NAME, "tj-secret"]),
    ],
)
def test_what_has_no_owner_for_an_hour_and_no_trainjob_is_collected(
    hours: float, with_job: bool, left: list[str]
) -> None:
    async def asked() -> None:
        client = Memory()
        made = stored(Job("default", engine="controller", secrets={"env.TOKEN": SECRET}))
        for each in made if with_job else made[:-1]:
            await client.create(each, manager=names.FIELD_MANAGER)
        later = datetime.now(UTC) + timedelta(hours=hours)
        gone = await unowned_objects.collect_unowned(client, "default", later)
        assert await there(client) == left
        assert len(gone) == 2 - len(left)

    asyncio.run(asked())


def test_what_a_run_owns_is_never_collected() -> None:
    async def asked() -> None:
        client = Memory()
        runtime = catalog.get("torch-distributed").to_wire()
        await client.create(runtime, manager=names.FIELD_MANAGER)
        await submit.submit_run(client, JOBS, Job("default", engine="controller").submission())
        later = datetime.now(UTC) + timedelta(days=1)
        assert await unowned_objects.collect_unowned(client, "", later) == ()
        await client.delete(TRAIN_JOB, "tj", "default")
        client.collect_garbage()
        assert await there(client) == []

    asyncio.run(asked())
