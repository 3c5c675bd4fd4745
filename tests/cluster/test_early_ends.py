"""Engine `provider` sees pods that were told to end and ended with 0: while it looks, and afterwards."""

from typing import Any

import pytest

from tests.cluster.submissions import Job
from tests.cluster.world import RUNNING, World, container, ended, eventually
from trainer_infra import names
from trainer_infra.cluster.provider.engine_provider import Cluster
from trainer_infra.lifecycle import early_end
from trainer_infra.runs.run import Run, RunKey

JSON = dict[str, Any]
POD = "tj-node-0-0-abcde"
DISRUPTED = {
    "type": "DisruptionTarget",
    "status": "True",
    "reason": "EvictionByEvictionAPI",
    "lastTransitionTime": "2026-11-21T12:00:49Z",
}
COUNTED = "and ended with 0, which Kubernetes counts as success although the training may not have"
LATER = {
    "terminated": {**ended(0, "Completed")["terminated"], "finishedAt": "2998-01-01T00:00:00Z"}
}


def now(cluster: Cluster, job: Job) -> Run:
    found = cluster.get(job.namespace, "tj")
    assert found is not None
    return found


def add_job(world: World) -> JSON:
    """The Job that JobSet makes."""
    owner = world.there("JobSet", "tj")
    reference = {
        "apiVersion": names.JOBSET_API_VERSION,
        "kind": names.JOBSET,
        "name": "tj",
        "uid": owner["metadata"]["uid"],
    }
    template = {
        "spec": {"containers": [{"name": "node", "image": "none"}], "restartPolicy": "Never"}
    }
    spec = {"completionMode": "Indexed", "completions": 1, "parallelism": 1, "template": template}
    labels = {names.JOBSET_NAME_LABEL: "tj"}
    metadata = {"name": "tj-node-0", "labels": labels, "ownerReferences": [reference]}
    return world.make("Job", {"metadata": metadata, "spec": spec})


def add_pod(world: World, job: JSON) -> None:
    """Its pod, which runs."""
    labels = {
        names.JOBSET_NAME_LABEL: "tj",
        names.JOBSET_UID_LABEL: world.there("JobSet", "tj")["metadata"]["uid"],
        names.RESTART_ATTEMPT_LABEL: "0",
        names.REPLICATED_JOB_LABEL: "node",
        names.JOB_INDEX_LABEL: "0",
        names.COMPLETION_INDEX: "0",
        early_end.JOB_UID_LABEL: job["metadata"]["uid"],
    }
    spec = {"containers": [{"name": "node", "image": "none"}], "restartPolicy": "Never"}
    metadata = {"name": POD, "labels": labels, "finalizers": [early_end.UNCOUNTED]}
    world.make("Pod", {"metadata": metadata, "spec": spec})
    world.status("Pod", POD, {"phase": "Running", "containerStatuses": [container(RUNNING)]})


def event(world: World, reason: str, message: str) -> None:
    about = {"kind": "Pod", "name": POD, "namespace": world.namespace}
    about["fieldPath"] = "spec.containers{node}"
    said = {"reason": reason, "message": message, "type": "Normal"}
    metadata = {"name": f"{POD}.{reason.lower()}"}
    world.make("Event", {"metadata": metadata, "involvedObject": about, **said})


def end_pod(world: World, state: JSON, *conditions: JSON) -> None:
    status = {"phase": "Succeeded", "conditions": list(conditions)}
    world.status("Pod", POD, {**status, "containerStatuses": [container(state)]})


def end_job(world: World, uncounted: bool = False) -> None:
    """The Job has counted its pod, and JobSet says that it was the last one."""
    if not uncounted:
        world.collect("Pod", POD)
    at = "2026-11-21T12:01:00Z"
    done = {"status": "True", "reason": "CompletionsReached", "lastTransitionTime": at}
    kinds = ("SuccessCriteriaMet", "Complete")
    status = {
        "startTime": "2026-11-21T12:00:00Z",
        "completionTime": at,
        "succeeded": 1,
        "completedIndexes": "0",
        "conditions": [{"type": each, **done} for each in kinds],
    }
    world.status("Job", "tj-node-0", status)
    world.end("Completed")


def begin(cluster: Cluster, world: World, job: Job) -> None:
    cluster.submit(job.submission())
    add_pod(world, add_job(world))


def failed_early(run: Run, how: str) -> bool:
    assert (run.phase, run.reason) == ("Failed", "EndedEarly"), run.message
    assert run.message.startswith(f"pod {POD} {how} {COUNTED}"), run.message
    return run.failure is None


def test_a_pod_that_is_there_as_it_was_told_to_end_fails_the_run_for_good(
    cluster: Cluster, world: World, job: Job
) -> None:
    begin(cluster, world, job)
    world.client.delete(world.path("Pod", POD))
    end_pod(world, LATER, DISRUPTED)
    end_job(world, uncounted=True)
    listed = cluster.list_runs(job.namespace).runs
    assert [failed_early(each, "was evicted from its node") for each in listed] == [True]
    run = now(cluster, job)
    assert failed_early(run, "was evicted from its node")
    world.collect("Pod", POD)
    world.client.delete(world.path("Job", "tj-node-0"))
    assert now(cluster, job) == run, "the record keeps it"
    assert cluster.list_runs(job.namespace).runs == (run,)


def test_a_pod_that_went_while_a_program_looked_fails_the_run_without_an_event(
    cluster: Cluster, world: World, job: Job
) -> None:
    begin(cluster, world, job)
    assert now(cluster, job).nodes[0].phase == "Running"
    world.client.delete(world.path("Pod", POD))
    end_pod(world, LATER)
    world.collect("Pod", POD)
    eventually(lambda: [each.phase for each in now(cluster, job).nodes] == ["Succeeded"])
    end_job(world, uncounted=True)
    assert failed_early(now(cluster, job), "was deleted")


@pytest.mark.parametrize("looks", ["get", "list"])
def test_of_a_pod_that_went_while_nobody_looked_the_kubelets_event_tells(
    cluster: Cluster, world: World, job: Job, looks: str
) -> None:
    begin(cluster, world, job)
    event(world, "Started", "Started container node")
    event(world, "Killing", "Stopping container node")
    world.client.delete(world.path("Pod", POD))
    end_job(world)
    if looks == "list":
        (run,) = cluster.list_runs(job.namespace).runs
        assert failed_early(run, "was told to end")
    assert failed_early(now(cluster, job), "was told to end")


def test_of_a_pod_of_which_nothing_is_left_the_run_says_that_it_is_not_known(
    cluster: Cluster, world: World, job: Job
) -> None:
    begin(cluster, world, job)
    world.client.delete(world.path("Pod", POD))
    end_job(world)
    run = now(cluster, job)
    assert (run.phase, run.reason) == ("Complete", "AllJobsCompleted")
    doubt = "nothing is left of pod tj-node-0-0 that tells whether it was told to end before"
    assert doubt in run.message
    assert now(cluster, job) == run


@pytest.mark.parametrize("drained", [True, False])
def test_a_pod_that_is_removed_after_its_end_leaves_the_run_complete(
    cluster: Cluster, world: World, job: Job, drained: bool
) -> None:
    begin(cluster, world, job)
    event(world, "Started", "Started container node")
    assert now(cluster, job).phase == "Running"
    end_pod(world, ended(0, "Completed"))
    world.client.delete(world.path("Pod", POD))
    if drained:
        end_pod(world, ended(0, "Completed"), DISRUPTED)
    end_job(world)
    run = now(cluster, job)
    assert (run.phase, run.message) == ("Complete", "jobset completed successfully")


@pytest.mark.usefixtures("collector")
def test_a_run_that_ended_early_runs_again_and_is_judged_by_its_own_pods(
    cluster: Cluster, world: World, job: Job
) -> None:
    begin(cluster, world, job)
    event(world, "Killing", "Stopping container node")
    world.client.delete(world.path("Pod", POD))
    end_job(world)
    run = now(cluster, job)
    assert failed_early(run, "was told to end")
    world.client.delete(world.path("Job", "tj-node-0"))
    again = cluster.retry(RunKey(job.namespace, "tj", run.uid, job.owner))
    assert again.phase == "Created"
    eventually(lambda: world.get("Job", "tj-node-0") is None)
    add_pod(world, add_job(world))
    end_pod(world, ended(0, "Completed"))
    end_job(world)
    assert now(cluster, job).message == "jobset completed successfully"
