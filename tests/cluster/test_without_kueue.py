"""Runs with a queue label in a cluster without Kueue: an API server that has none of its kinds."""

from typing import Any

import pytest

from from_source.cluster.apiserver import RunningServer
from tests.cluster.submissions import Job
from tests.cluster.world import World
from trainer_infra.cluster import served_kinds
from trainer_infra.cluster.runs import ClusterRuns
from trainer_infra.cluster.served_kinds import ServedKinds
from trainer_infra.runs.run import RunKey

LABEL = "kueue.x-k8s.io/queue-name"
HERE = ServedKinds(reachable=True, jobset=True, kueue=True, server="https://here")


@pytest.fixture
def queued(job: Job) -> Job:
    job.metadata = {"labels": {LABEL: "research"}}
    return job


def jobset(**spec: Any) -> dict[str, Any]:
    metadata = {"name": "tj", "namespace": "team", "labels": {LABEL: "research"}}
    return {"kind": "JobSet", "metadata": metadata, "spec": spec}


def test_a_queue_label_is_a_warning_before_anything_is_submitted(
    either: ClusterRuns, api_server: RunningServer, queued: Job
) -> None:
    queued.spec = {"suspend": True}
    objects = queued.submission().objects
    assert either.warnings(objects)[-1] == (
        f"label {LABEL}: the cluster at {api_server.address.url} has no Kueue, so that runs in its "
        "queues stay suspended until you resume them, got 'research'; install Kueue, or remove "
        "the label"
    )
    queued.spec = {}
    assert "start at once, unqueued" in either.warnings(queued.submission().objects)[-1]
    queued.metadata = {}
    assert LABEL not in str(either.warnings(queued.submission().objects))


def test_a_run_born_suspended_is_stuck_and_says_that_there_is_no_kueue(
    either: ClusterRuns, queued: Job
) -> None:
    queued.spec = {"suspend": True}
    either.submit(queued.submission())
    run = either.get(queued.namespace, "tj")
    assert run is not None
    assert run.phase == "Suspended"
    assert run.stuck == (
        "admission by Kueue to queue research, but this cluster has no Kueue: it serves no Workload "
        "of kueue.x-k8s.io; install Kueue, or resume it by suspend=False or `trainer-infra resume`"
    )
    assert run.waiting_for == run.stuck
    assert [each.stuck for each in either.list_runs(queued.namespace).runs] == [run.stuck]


def test_suspend_and_resume_are_the_users_as_without_a_queue(
    either: ClusterRuns, world: World, queued: Job
) -> None:
    queued.spec = {"suspend": True}
    run = either.submit(queued.submission())
    resumed = either.suspend(RunKey(queued.namespace, "tj", run.uid), False)
    assert (resumed.phase, resumed.stuck) == ("Created", "")
    assert world.there("JobSet", "tj")["spec"]["suspend"] is False
    assert either.suspend(RunKey(queued.namespace, "tj", run.uid), True).phase == "Suspended"
    assert world.there("JobSet", "tj")["spec"]["suspend"] is True


def test_a_local_queue_that_is_missing_is_a_warning() -> None:
    missing = {("team", "research")}
    (said,) = served_kinds.served_warnings(HERE, [jobset()], missing)
    assert said == (
        f"label {LABEL}: there is no LocalQueue of that name in namespace team, so that Kueue "
        "admits no run, got 'research'; create the LocalQueue, or name another one"
    )
    assert served_kinds.served_warnings(HERE, [jobset()]) == ()


def test_suspend_in_a_queue_of_kueue_is_a_warning() -> None:
    (said,) = served_kinds.served_warnings(HERE, [jobset(suspend=True)])
    assert said.startswith("suspend: has no effect in queue research, got True: Kueue resumes")
