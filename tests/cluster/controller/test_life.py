"""A run of engine `controller` is a TrainJob: submitted, seen, suspended, ended, run again, deleted."""

import base64
import json
from dataclasses import replace
from typing import Any

import pytest

from tests.cluster.submissions import CODE, OTHER, OWNER, SECRET, Job
from tests.cluster.trainer import ReconciledCluster
from tests.cluster.world import RUNNING, World, container, ended
from trainer_infra import names
from trainer_infra.errors import NotAvailable, Refused
from trainer_infra.runs.run import LogSelection, Run, RunKey

CODE_NAME = f"tj-code-{CODE.digest()}"
POD = "tj-node-0-0-abcde"
TRAIN_JOB = {"apiVersion": names.API_VERSION, "kind": "TrainJob", "name": "tj"}


def now(controlled: ReconciledCluster, job: Job) -> Run:
    found = controlled.get(job.namespace, "tj")
    assert found is not None
    return found


def owners(world: World, kind: str, name: str) -> Any:
    return world.there(kind, name)["metadata"].get("ownerReferences")


def fail(controlled: ReconciledCluster, world: World, job: Job) -> Run:
    """A run that was submitted and has failed."""
    controlled.submit(job.submission())
    now(controlled, job)
    world.pod(POD, phase="Failed", containerStatuses=[container(ended(42))])
    world.end("Failed")
    run = now(controlled, job)
    assert run.phase == "Failed"
    return run


def test_a_submit_makes_the_trainjob_which_owns_the_code_and_the_secret(
    controlled: ReconciledCluster, world: World, job: Job
) -> None:
    job.secrets = {"env.TOKEN": SECRET}
    controlled.stopped = True
    run = controlled.submit(job.submission())
    stored = world.there("TrainJob", "tj")
    assert (run.name, run.uid, run.phase) == ("tj", stored["metadata"]["uid"], "Created")
    assert (run.owner, run.content, run.host) == (OWNER, "c1", controlled.host())
    assert run.cause == "trainer-controller-silent"
    owner = {**TRAIN_JOB, "uid": run.uid, "controller": True}
    assert owners(world, "ConfigMap", CODE_NAME) == [owner]
    assert owners(world, "Secret", "tj-secret") == [owner]
    assert world.there("ConfigMap", CODE_NAME)["data"] == {"main.py": "print('training')\n"}
    kept = world.there("Secret", "tj-secret")["data"]["env.TOKEN"]
    assert base64.b64decode(kept).decode() == SECRET
    assert SECRET not in json.dumps(stored)
    assert kept not in json.dumps(stored)
    controlled.stopped = False
    seen = now(controlled, job)
    # What a runtime decides is known once there is a JobSet.
    assert seen == replace(
        run, waiting_for=seen.waiting_for, cause=seen.cause, settings=seen.settings
    )
    assert seen.settings.runtime == run.settings.runtime
    assert controlled.list_runs(job.namespace).runs[0].uid == run.uid


def test_the_jobset_is_what_was_shown(
    controlled: ReconciledCluster, world: World, job: Job
) -> None:
    submission = job.submission()
    controlled.submit(submission)
    now(controlled, job)
    shown, made = submission.objects[-1], world.there("JobSet", "tj")
    assert {key: made["spec"][key] for key in shown["spec"]} | {"replicatedJobs": None} == {
        **shown["spec"],
        "replicatedJobs": None,
    }
    (mine,) = shown["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"][
        "containers"
    ]
    (theirs,) = made["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]["spec"][
        "containers"
    ]
    assert theirs["env"] == mine["env"]
    assert theirs["volumeMounts"] == mine["volumeMounts"]
    assert theirs["command"] == mine["command"]


def test_the_code_is_mounted_by_a_runtime_patch_of_ours(
    controlled: ReconciledCluster, world: World, job: Job
) -> None:
    controlled.submit(job.submission())
    (patch,) = world.there("TrainJob", "tj")["spec"]["runtimePatches"]
    assert patch["manager"] == "trainer.kubeflow.org/trainer-infra"
    assert CODE_NAME in json.dumps(patch)


def test_the_same_content_of_the_same_owner_is_the_same_run(
    controlled: ReconciledCluster, world: World, job: Job
) -> None:
    first = controlled.submit(job.submission())
    before = world.there("TrainJob", "tj")["metadata"]["uid"]
    assert controlled.submit(job.submission()).uid == first.uid == before


def test_another_owners_trainjob_is_left_alone_unless_it_is_adopted(
    controlled: ReconciledCluster, world: World, job: Job
) -> None:
    first = controlled.submit(job.submission())
    theirs = replace(job, owner=OTHER)
    with pytest.raises(Refused, match="exists and belongs to"):
        controlled.submit(theirs.submission())
    taken = controlled.submit(theirs.submission(), adopt=True)
    assert (taken.uid, taken.owner, taken.drift) == (first.uid, OTHER, {})
    labels = world.there("ConfigMap", CODE_NAME)["metadata"]["labels"]
    assert labels["trainer-infra.dev/stack"] == "prod"
    key = RunKey(job.namespace, "tj", first.uid, OWNER)
    assert "belongs to" in controlled.delete(key)
    assert world.names("TrainJob") == ["tj"]


def test_a_trainjob_of_somebody_else_is_no_run_and_is_left_alone(
    controlled: ReconciledCluster, world: World, job: Job
) -> None:
    spec = {"runtimeRef": {"name": "torch-distributed"}}
    head = {"apiVersion": names.API_VERSION, "kind": "TrainJob", "metadata": {"name": "tj"}}
    world.make("TrainJob", {**head, "spec": spec})
    assert controlled.get(job.namespace, "tj") is None
    with pytest.raises(Refused, match="is not a run of"):
        controlled.submit(job.submission(), adopt=True)
    assert world.names("ConfigMap") == []
    assert controlled.delete(RunKey(job.namespace, "tj")) == ""
    assert world.names("TrainJob") == ["tj"]


def test_a_jobset_of_that_name_ends_the_submit_before_anything_is_made(
    controlled: ReconciledCluster, world: World, job: Job
) -> None:
    made = dict(job.submission().objects[-1])
    world.make("JobSet", {**made, "metadata": {"name": "tj"}})
    with pytest.raises(Refused, match=r"JobSet .*/tj exists and belongs to"):
        controlled.submit(job.submission())
    assert (world.names("TrainJob"), world.names("ConfigMap")) == ([], [])


def test_other_content_takes_the_place_of_a_run_that_is_adopted(
    controlled: ReconciledCluster, world: World, job: Job
) -> None:
    first = controlled.submit(job.submission())
    other = replace(job, content="c2")
    second = controlled.submit(other.submission(), adopt=True)
    assert (second.uid != first.uid, second.content) == (True, "c2")
    assert owners(world, "ConfigMap", CODE_NAME)[0]["uid"] == second.uid


def test_a_run_is_seen_from_its_start_to_its_end_and_kept_when_its_pods_are_gone(
    controlled: ReconciledCluster, world: World, job: Job
) -> None:
    controlled.submit(job.submission())
    now(controlled, job)
    world.pod(POD, phase="Running", containerStatuses=[container(RUNNING)])
    assert now(controlled, job).phase == "Running"
    metrics = [{"name": "loss", "value": "0.5"}]
    report = {"metrics": metrics, "lastUpdatedTime": "2026-11-21T12:00:40Z"}
    said = json.dumps({"progressPercentage": 100, **report})
    state = ended(0, "Completed", said)
    world.pod(POD, phase="Succeeded", containerStatuses=[container(state)])
    world.end("Completed")
    run = now(controlled, job)
    assert (run.phase, run.reason) == ("Complete", "AllJobsCompleted")
    assert run.status["trainerStatus"]["metrics"] == metrics
    world.client.delete(world.path("Pod", POD))
    world.client.delete(world.path("JobSet", "tj"))
    assert now(controlled, job) == run
    assert controlled.list_runs(job.namespace).runs == (run,)


def test_a_failure_names_the_pod_its_exit_code_and_why(
    controlled: ReconciledCluster, world: World, job: Job
) -> None:
    run = fail(controlled, world, job)
    assert run.reason == "FailedJobs"
    assert run.message.startswith("jobset failed due to one or more job failures; ")
    assert POD in run.message
    assert "42" in run.message
    assert run.failure is not None
    assert (run.failure.pod, run.failure.exit_code, run.failure.reason) == (POD, 42, "Error")


def test_a_deadline_that_passed_is_said_though_the_jobset_is_gone(
    controlled: ReconciledCluster, world: World, job: Job
) -> None:
    job.spec = {"activeDeadlineSeconds": 30}
    controlled.submit(job.submission())
    assert world.there("TrainJob", "tj")["spec"]["activeDeadlineSeconds"] == 30
    controlled.stopped = True
    condition = {
        "type": "Failed",
        "status": "True",
        "reason": "DeadlineExceeded",
        "message": names.DEADLINE_MESSAGE,
        "lastTransitionTime": "2026-11-21T12:01:00Z",
    }
    world.status("TrainJob", "tj", {"conditions": [condition]})
    run = now(controlled, job)
    assert (run.phase, run.message) == ("Failed", "TrainJob exceeded its active deadline of 30 s")


def test_a_run_is_suspended_and_resumed_by_its_trainjob(
    controlled: ReconciledCluster, world: World, job: Job
) -> None:
    key = controlled.submit(job.submission()).key
    assert controlled.suspend(key, True).phase == "Suspended"
    assert world.there("JobSet", "tj")["spec"]["suspend"] is True
    run = controlled.suspend(key, False)
    assert (run.phase, run.drift) == ("Created", {})
    assert world.there("TrainJob", "tj")["spec"]["suspend"] is False


def test_a_failed_run_is_run_again_as_the_same_run(
    controlled: ReconciledCluster, world: World, job: Job
) -> None:
    job.secrets = {"env.TOKEN": SECRET}
    run = fail(controlled, world, job)
    before = world.there("Secret", "tj-secret")
    world.client.delete(world.path("Pod", POD))
    again = controlled.retry(run.key)
    stored = world.there("TrainJob", "tj")["metadata"]
    assert (again.uid, again.phase) == (run.uid, "Created")
    assert stored["uid"] != run.uid
    for kind, name in (("ConfigMap", CODE_NAME), ("Secret", "tj-secret")):
        assert [each["uid"] for each in owners(world, kind, name)] == [stored["uid"]]
    assert world.there("Secret", "tj-secret")["data"] == before["data"]
    assert now(controlled, job).drift == {}
    assert controlled.submit(job.submission()).uid == run.uid
    world.pod(POD, phase="Failed", containerStatuses=[container(ended(7))])
    world.end("Failed")
    assert controlled.retry(run.key).uid == run.uid
    assert controlled.delete(run.key) == ""
    assert world.all_names() == {}


def test_only_a_run_that_failed_is_run_again(
    controlled: ReconciledCluster, world: World, job: Job
) -> None:
    run = controlled.submit(job.submission())
    with pytest.raises(Refused, match="has not failed"):
        controlled.retry(run.key)
    assert world.there("TrainJob", "tj")["metadata"]["uid"] == run.uid


def test_a_deleted_run_leaves_nothing_and_another_one_of_its_name_stays(
    controlled: ReconciledCluster, world: World, job: Job
) -> None:
    job.secrets = {"env.TOKEN": SECRET}
    run = controlled.submit(job.submission())
    now(controlled, job)
    assert controlled.delete(replace(run.key, uid="another")) == ""
    assert world.names("TrainJob") == ["tj"]
    assert controlled.delete(run.key) == ""
    assert (world.names("TrainJob"), world.all_names()) == ([], {})
    assert controlled.get(job.namespace, "tj") is None
    assert controlled.delete(run.key) == ""


def test_lines_have_no_values_of_the_secret(
    controlled: ReconciledCluster, world: World, job: Job
) -> None:
    key = controlled.submit(job.submission()).key
    assert now(controlled, job).phase == "Created"
    assert list(controlled.logs(key, LogSelection())) == []
    with pytest.raises(NotAvailable, match="has no pod tj-node-0-7"):
        controlled.logs(key, LogSelection(pod="tj-node-0-7"))
    assert world.names("TrainJob") == ["tj"]


def test_a_runtime_that_the_cluster_does_not_have_ends_the_submit(
    controlled: ReconciledCluster, world: World, job: Job
) -> None:
    world.client.delete(world.path("ClusterTrainingRuntime", "jax-distributed"))
    with pytest.raises(NotAvailable, match="has no ClusterTrainingRuntime jax-distributed"):
        controlled.submit(replace(job, runtime="jax-distributed").submission())
    assert world.names("ConfigMap") == []


def test_new_values_of_a_secret_start_no_other_run(
    controlled: ReconciledCluster, world: World, job: Job
) -> None:
    job.secrets = {"env.TOKEN": SECRET}
    run = controlled.submit(job.submission())
    controlled.update_secrets(run.key, {"env.TOKEN": "another value"})
    kept = world.there("Secret", "tj-secret")["data"]["env.TOKEN"]
    assert base64.b64decode(kept).decode() == "another value"
    assert now(controlled, job).uid == run.uid
