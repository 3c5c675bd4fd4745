"""Deleting a run takes what is the run's, waits for its pods, and says what is still there."""

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from from_source.cluster.apiserver import RunningServer
from tests.cluster.counted import Counted, Unwatching
from tests.cluster.submissions import SECRET, Job
from tests.cluster.world import World
from trainer_infra.cluster import delete
from trainer_infra.cluster.provider.engine_provider import Cluster
from trainer_infra.cluster.provider.record_store import RECORDS
from trainer_infra.errors import NotAvailable
from trainer_infra.kube import http, loop
from trainer_infra.runs.run import RunKey


def held(world: World, kind: str, name: str) -> None:
    def hold(value: dict[str, Any]) -> None:
        value["metadata"]["finalizers"] = ["acme.io/hold"]

    world.change(kind, name, hold)


@pytest.mark.usefixtures("collector")
def test_everything_of_a_run_goes_and_a_second_time_is_fine(
    cluster: Cluster, world: World, job: Job
) -> None:
    job.secrets = {"token": SECRET}
    run = cluster.submit(job.submission())
    for _ in range(2):
        assert cluster.delete(RunKey(job.namespace, "tj", run.uid)) == ""
        assert world.all_names() == {}
    assert cluster.get(job.namespace, "tj") is None
    assert cluster.list_runs(job.namespace).runs == ()


@pytest.mark.usefixtures("collector")
def test_without_a_uid_whichever_run_there_is_goes(
    cluster: Cluster, world: World, job: Job
) -> None:
    cluster.submit(job.submission())
    assert cluster.delete(RunKey(job.namespace, "tj", "")) == ""
    assert world.all_names() == {}


def test_another_run_of_that_name_is_left_alone(cluster: Cluster, world: World, job: Job) -> None:
    run = cluster.submit(job.submission())
    before = world.all_names()
    assert cluster.delete(RunKey(job.namespace, "tj", "another")) == ""
    assert (world.all_names(), cluster.get(job.namespace, "tj")) == (before, run)


@pytest.mark.usefixtures("collector")
def test_what_took_the_place_of_an_object_of_the_run_is_left_alone(
    cluster: Cluster, world: World, job: Job
) -> None:
    job.secrets = {"token": SECRET}
    run = cluster.submit(job.submission())
    world.client.delete(world.path("Secret", "tj-secret"))
    world.make("Secret", {"metadata": {"name": "tj-secret"}, "data": {"token": "dGhlaXJz"}})
    assert cluster.delete(RunKey(job.namespace, "tj", run.uid)) == ""
    assert world.all_names() == {"Secret": ["tj-secret"]}


def test_a_jobset_that_does_not_go_is_a_warning_and_the_next_delete_waits_again(
    cluster: Cluster, world: World, job: Job
) -> None:
    run = cluster.submit(job.submission())
    held(world, "JobSet", "tj")
    warning = (
        f"JobSet {job.namespace}/tj is still being deleted, and so may its pods be; it waits for "
        "its finalizers: acme.io/hold, foregroundDeletion"
    )
    assert cluster.delete(RunKey(job.namespace, "tj", run.uid), timeout=0.2) == warning
    assert world.all_names() == {"JobSet": ["tj"]}
    assert cluster.get(job.namespace, "tj") is None
    assert cluster.delete(RunKey(job.namespace, "tj", run.uid), timeout=0.2) == warning
    world.collect("JobSet", "tj")
    assert cluster.delete(RunKey(job.namespace, "tj", run.uid)) == ""
    assert world.all_names() == {}


@pytest.mark.usefixtures("collector")
def test_a_run_whose_jobset_is_gone_already_is_removed(
    cluster: Cluster, world: World, job: Job
) -> None:
    run = cluster.submit(job.submission())
    world.client.delete(world.path("JobSet", "tj"))
    assert cluster.delete(RunKey(job.namespace, "tj", run.uid)) == ""
    assert world.all_names() == {}


@pytest.mark.usefixtures("collector")
def test_the_next_run_of_the_name_waits_until_the_record_before_it_is_gone(
    cluster: Cluster, world: World, job: Job
) -> None:
    first = cluster.submit(job.submission())
    held(world, "ConfigMap", "tj-runtime-snapshot")
    assert cluster.delete(RunKey(job.namespace, "tj", first.uid)) == ""
    assert world.names("ConfigMap") == ["tj-runtime-snapshot"]
    with ThreadPoolExecutor(1) as pool:
        submitted = pool.submit(cluster.submit, job.submission())
        time.sleep(0.5)
        assert not submitted.done()
        world.collect("ConfigMap", "tj-runtime-snapshot")
        assert submitted.result().uid != first.uid


def test_a_submit_gives_up_when_an_earlier_run_does_not_go(
    cluster: Cluster, world: World, job: Job
) -> None:
    first = cluster.submit(job.submission())
    held(world, "ConfigMap", "tj-runtime-snapshot")
    cluster.delete(RunKey(job.namespace, "tj", first.uid), timeout=0.1)
    with pytest.raises(NotAvailable, match="an earlier run of that name is still being deleted"):
        cluster.submit(job.submission(), timeout=0.5)
    assert world.names("ConfigMap") == ["tj-runtime-snapshot"]


def deleted(
    api_server: RunningServer, job: Job, uid: str, kind: type[Counted]
) -> tuple[str, dict[str, int]]:
    """What a delete says, and its requests by verb."""

    async def run() -> tuple[str, dict[str, int]]:
        client = kind(await http.connect_client(str(api_server.kubeconfig), None))
        try:
            return await delete.delete_run(
                client, RECORDS, RunKey(job.namespace, "tj", uid), 10
            ), client.requests
        finally:
            await client.close()

    return loop.run_in_loop(run())


def test_a_delete_asks_as_often_however_long_the_jobset_takes(
    api_server: RunningServer, cluster: Cluster, world: World, job: Job
) -> None:
    run = cluster.submit(job.submission())
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(deleted, api_server, job, run.uid, Counted)
        time.sleep(2)
        assert not waiting.done()
        world.collect("JobSet", "tj")
        said, requests = waiting.result()
    assert said == ""
    # Record and JobSet; the code is looked at before it is deleted too.
    assert requests == {"get": 3, "delete": 3, "watch": 1}
    assert world.all_names() == {}


@pytest.mark.usefixtures("collector")
def test_who_may_not_watch_deletes_as_well(
    api_server: RunningServer, cluster: Cluster, world: World, job: Job
) -> None:
    run = cluster.submit(job.submission())
    said, _ = deleted(api_server, job, run.uid, Unwatching)
    assert said == ""
    assert world.all_names() == {}
