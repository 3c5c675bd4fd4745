"""A run that failed or was lost runs again: the same record, another JobSet."""

from dataclasses import replace

import pytest

from tests.cluster.submissions import OTHER, Job
from tests.cluster.test_status import POD
from tests.cluster.world import World, container, ended
from trainer_infra.cluster.provider.engine_provider import Cluster
from trainer_infra.cluster.runs import ClusterRuns
from trainer_infra.errors import NotAvailable, Refused
from trainer_infra.runs.run import RunKey

pytestmark = pytest.mark.usefixtures("collector")


def failed(either: ClusterRuns, world: World, job: Job) -> str:
    """UID of a run that has failed."""
    uid = either.submit(job.submission()).uid
    world.pod(POD, phase="Failed", containerStatuses=[container(ended(42))])
    world.end("Failed")
    run = either.get(job.namespace, "tj")
    assert run is not None
    assert run.phase == "Failed"
    world.client.delete(world.path("Pod", POD))
    return uid


def test_a_failed_run_has_a_new_jobset_and_is_the_same_run(
    either: ClusterRuns, world: World, job: Job
) -> None:
    job.secrets = {"env.TOKEN": "hunter2-hunter2"}
    uid = failed(either, world, job)
    before = world.there("JobSet", "tj")
    others = {kind: each for kind, each in world.all_names().items() if kind != "JobSet"}

    again = either.retry(RunKey(job.namespace, "tj", uid, job.owner))

    after = world.there("JobSet", "tj")
    assert (again.uid, again.phase) == (uid, "Created")
    assert after["metadata"]["uid"] != before["metadata"]["uid"]
    assert after["spec"] == before["spec"]
    assert {kind: each for kind, each in world.all_names().items() if kind != "JobSet"} == others
    assert again.drift == {}
    world.pod(POD, phase="Succeeded", containerStatuses=[container(ended(0, "Completed"))])
    world.end("Completed")
    run = either.get(job.namespace, "tj")
    assert run is not None
    assert (run.uid, run.phase) == (uid, "Complete")


def test_a_lost_run_runs_again(cluster: Cluster, world: World, job: Job) -> None:
    uid = cluster.submit(job.submission()).uid
    world.client.delete(world.path("JobSet", "tj"))
    assert cluster.retry(RunKey(job.namespace, "tj", uid)).phase == "Created"
    assert world.names("JobSet") == ["tj"]


def test_a_retry_that_was_interrupted_is_done_again(
    either: ClusterRuns, world: World, job: Job
) -> None:
    uid = failed(either, world, job)
    world.client.delete(world.path("JobSet", "tj"))
    assert either.retry(RunKey(job.namespace, "tj", uid)).phase == "Created"


def test_a_run_that_the_user_suspended_meanwhile_stays_suspended(
    cluster: Cluster, world: World, job: Job
) -> None:
    uid = cluster.submit(job.submission()).uid
    cluster.suspend(RunKey(job.namespace, "tj", uid), value=True)
    world.client.delete(world.path("JobSet", "tj"))
    assert cluster.retry(RunKey(job.namespace, "tj", uid)).phase == "Suspended"
    cluster.suspend(RunKey(job.namespace, "tj", uid), value=False)
    assert world.there("JobSet", "tj")["spec"]["suspend"] is False


def test_what_has_not_failed_is_refused(either: ClusterRuns, world: World, job: Job) -> None:
    uid = either.submit(job.submission()).uid
    with pytest.raises(Refused, match="tj has not failed, it is created"):
        either.retry(RunKey(job.namespace, "tj", uid))
    with pytest.raises(NotAvailable, match="there is no run"):
        either.retry(RunKey(job.namespace, "other", ""))
    assert world.names("JobSet") == ["tj"]


def test_a_run_of_another_owner_is_left_alone(either: ClusterRuns, world: World, job: Job) -> None:
    uid = failed(either, world, job)
    before = world.there("JobSet", "tj")
    with pytest.raises(Refused, match="belongs to"):
        either.retry(RunKey(job.namespace, "tj", uid, replace(OTHER)))
    assert world.there("JobSet", "tj") == before
