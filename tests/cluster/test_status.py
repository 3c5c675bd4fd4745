"""What is known of a run, from a JobSet and pods as a cluster writes them."""

import json
from dataclasses import replace
from typing import Any

import pytest

from tests.cluster.submissions import Job
from tests.cluster.world import RUNNING, World, container, ended, waiting
from trainer_infra.cluster.provider.engine_provider import Cluster
from trainer_infra.cluster.runs import ClusterRuns
from trainer_infra.runs.run import Failure, Run, RunKey

POD = "tj-node-0-0-abcde"
COUNTS = {"name": "node", "ready": 1, "succeeded": 0, "failed": 0, "active": 1, "suspended": 0}
REPORT = {
    "progressPercentage": 100,
    "metrics": [{"name": "accuracy", "value": "0.97"}],
    "lastUpdatedTime": "2026-11-21T12:00:49Z",
}


def now(either: ClusterRuns, job: Job) -> Run:
    found = either.get(job.namespace, "tj")
    assert found is not None
    return found


def test_a_run_whose_pods_run_is_running(either: ClusterRuns, world: World, job: Job) -> None:
    either.submit(job.submission())
    world.pod(POD, phase="Running", containerStatuses=[container(RUNNING)])
    run = now(either, job)
    assert (run.phase, run.started, run.waiting_for) == ("Running", "2026-11-21T12:00:10Z", "")
    assert [(each.pod, each.phase, each.step) for each in run.nodes] == [(POD, "Running", "node")]


def test_pods_are_in_order_of_their_index_with_their_node_and_restarts(
    either: ClusterRuns, world: World, job: Job
) -> None:
    job.spec = {"trainer": {"numNodes": 3}}
    either.submit(job.submission())
    for index in (10, 2, 1):
        world.pod(
            f"tj-node-0-{index}-abcde",
            node=f"n{index}",
            phase="Running",
            containerStatuses=[container(RUNNING, ended(1), restarts=index)],
        )
    nodes = now(either, job).nodes
    assert [(each.pod, each.host, each.restarts) for each in nodes] == [
        (f"tj-node-0-{index}-abcde", f"n{index}", index) for index in (1, 2, 10)
    ]


def test_the_first_node_that_reported_counts_for_the_run(
    either: ClusterRuns, world: World, job: Job
) -> None:
    job.spec = {"trainer": {"numNodes": 3}}
    either.submit(job.submission())
    counts = []
    for index in (2, 1, 0):
        later = f"2026-11-21T12:00:0{3 - index}Z" if index else "2026-11-21T12:00:00Z"
        message = json.dumps({**REPORT, "progressPercentage": index, "lastUpdatedTime": later})
        ended_well = container(ended(0, "Completed", message))
        world.pod(f"tj-node-0-{index}-abcde", phase="Succeeded", containerStatuses=[ended_well])
        counts.append(now(either, job).status["trainerStatus"]["progressPercentage"])
    assert counts == [2, 1, 0]
    assert [each.progress for each in now(either, job).nodes] == [0, 1, 2]


def test_a_complete_run_has_the_metrics_that_its_pod_left_and_keeps_them_when_all_is_gone(
    either: ClusterRuns, world: World, job: Job
) -> None:
    submitted = either.submit(job.submission())
    message = json.dumps(REPORT)
    world.pod(POD, phase="Succeeded", containerStatuses=[container(ended(0, "Completed", message))])
    world.end("Completed")
    run = now(either, job)
    assert (run.phase, run.reason, run.message) == (
        "Complete",
        "AllJobsCompleted",
        "jobset completed successfully",
    )
    assert run.status["trainerStatus"] == REPORT
    assert run.nodes[0].metrics == {"accuracy": "0.97"}
    assert (run.started, run.finished) == ("2026-11-21T12:00:10Z", "2026-11-21T12:01:00Z")
    world.client.delete(world.path("Pod", POD))
    world.client.delete(world.path("JobSet", "tj"))
    assert now(either, job) == run
    assert either.list_runs(job.namespace).runs == (run,)
    assert either.submit(job.submission()) == run
    assert run.uid == submitted.uid


def test_a_failed_run_names_the_pod_its_exit_code_and_what_it_means(
    either: ClusterRuns, world: World, job: Job
) -> None:
    either.submit(job.submission())
    world.pod(POD, phase="Failed", containerStatuses=[container(ended(42))])
    world.end("Failed")
    run = now(either, job)
    assert (run.phase, run.reason) == ("Failed", "FailedJobs")
    assert run.message == (
        "jobset failed due to one or more job failures; "
        f"pod {POD}: container node ended with exit code 42"
    )
    assert run.failure == Failure(POD, "Error", 42, ())


@pytest.mark.parametrize(
    ("state", "sentence", "reason"),
    [
        (ended(137, "OOMKilled"), "container node ran out of memory and was ended", "OOMKilled"),
        (ended(1, message="loss is nan"), "ended with exit code 1: loss is nan", "Error"),
        (ended(1, message=json.dumps(REPORT)), "container node ended with exit code 1", "Error"),
        (ended(128, "StartError", "no such file"), "cannot start", "StartError"),
        (ended(139), "with exit code 139: a segmentation fault (SIGSEGV)", "Error"),
    ],
)
def test_why_a_container_ended_is_said(
    either: ClusterRuns, world: World, job: Job, state: dict[str, Any], sentence: str, reason: str
) -> None:
    either.submit(job.submission())
    world.pod(POD, phase="Failed", containerStatuses=[container(state)])
    world.end("Failed")
    run = now(either, job)
    assert sentence in run.message
    assert "progressPercentage" not in run.message
    assert run.failure is not None
    assert (run.failure.pod, run.failure.reason) == (POD, reason)


@pytest.mark.parametrize("is_there", [True, False])
def test_a_job_past_its_deadline_is_the_trainjobs_deadline(
    cluster: Cluster, world: World, job: Job, is_there: bool
) -> None:
    job.spec = {"activeDeadlineSeconds": 60}
    cluster.submit(job.submission())
    if is_there:
        # Its container ignored SIGTERM, and the Job controller has not taken it away as yet.
        world.pod(POD, phase="Failed", containerStatuses=[container(ended(137))])
    labels = {"jobset.sigs.k8s.io/jobset-name": "tj"}
    pod = {"spec": {"restartPolicy": "Never", "containers": [{"name": "node", "image": "none"}]}}
    world.make(
        "Job", {"metadata": {"name": "tj-node-0", "labels": labels}, "spec": {"template": pod}}
    )
    why = {
        "status": "True",
        "reason": "DeadlineExceeded",
        "message": "Job was active longer than specified deadline",
        "lastTransitionTime": "2026-11-21T12:01:00Z",
    }
    conditions = [{"type": "FailureTarget", **why}, {"type": "Failed", **why}]
    status = {"conditions": conditions, "startTime": "2026-11-21T12:00:00Z", "failed": 1}
    world.status("Job", "tj-node-0", status)
    world.end("Failed")
    run = now(cluster, job)
    assert (run.phase, run.reason) == ("Failed", "DeadlineExceeded")
    assert run.message == (
        "TrainJob exceeded its active deadline of 60 s; Job tj-node-0: Job was active longer than "
        "specified deadline (DeadlineExceeded)"
    )
    assert run.failure is None


def test_a_jobset_that_is_gone_before_the_end_is_a_loss_that_is_never_run_again(
    cluster: Cluster, world: World, job: Job
) -> None:
    first = cluster.submit(job.submission())
    world.client.delete(world.path("JobSet", "tj"))
    run = now(cluster, job)
    assert (run.phase, run.uid) == ("Lost", first.uid)
    assert run.message == ("its JobSet was deleted before it ended; raise attempt to run it again")
    assert cluster.submit(job.submission()) == run
    assert world.names("JobSet") == []
    assert cluster.list_runs(job.namespace).runs == (run,)


def test_another_jobset_of_that_name_is_a_loss_too(
    cluster: Cluster, world: World, job: Job
) -> None:
    cluster.submit(job.submission())
    spec = world.there("JobSet", "tj")["spec"]
    world.client.delete(world.path("JobSet", "tj"))
    world.make(
        "JobSet",
        {
            "apiVersion": "jobset.x-k8s.io/v1alpha2",
            "kind": "JobSet",
            "metadata": {"name": "tj"},
            "spec": spec,
        },
    )
    assert now(cluster, job).phase == "Lost"


def test_a_jobset_that_is_being_deleted_counts_until_it_is_gone(
    cluster: Cluster, world: World, job: Job
) -> None:
    cluster.submit(job.submission())

    def hold(value: dict[str, Any]) -> None:
        value["metadata"]["finalizers"] = ["acme.io/hold"]

    world.change("JobSet", "tj", hold)
    world.client.delete(world.path("JobSet", "tj"))
    run = now(cluster, job)
    assert (run.phase, run.waiting_for) == (
        "Created",
        "the end of its JobSet, which is being deleted, held by finalizer acme.io/hold",
    )
    world.collect("JobSet", "tj")
    assert now(cluster, job).phase == "Lost"


def test_another_uid_is_another_run(either: ClusterRuns, job: Job) -> None:
    run = either.submit(job.submission())
    assert either.get(job.namespace, "tj", "other") is None
    assert either.get(job.namespace, "other") is None
    assert either.get(job.namespace, "tj", run.uid) == run


def test_why_a_run_waits_is_said(either: ClusterRuns, world: World, job: Job) -> None:
    either.submit(job.submission())
    assert now(either, job).waiting_for == "pods of node are being made"
    unschedulable = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "0/1 nodes are available: 1 Insufficient nvidia.com/gpu.",
    }
    world.pod(POD, phase="Pending", conditions=[unschedulable])
    assert now(either, job).waiting_for == (
        f"a place for pod {POD}: 0/1 nodes are available: 1 Insufficient nvidia.com/gpu."
    )


def test_an_image_that_is_pulled_is_named(either: ClusterRuns, world: World, job: Job) -> None:
    either.submit(job.submission())
    statuses = [container(waiting("ContainerCreating"))]
    world.pod(POD, node="n1", phase="Pending", containerStatuses=statuses)
    assert now(either, job).waiting_for == f"containers of pod {POD} are being made"
    world.event(POD, "Pulling", 'Pulling image "acme/train:1"')
    run = now(either, job)
    assert (run.waiting_for, run.stuck) == (f'pulling image "acme/train:1" for pod {POD}', "")


@pytest.mark.parametrize(
    ("reason", "message", "sentence"),
    [
        ("ImagePullBackOff", "Back-off", "the image of container node cannot be pulled: Back-off"),
        ("ErrImageNeverPull", "absent", "the image of container node cannot be pulled: absent"),
        ("InvalidImageName", "bad name", "the image of container node cannot be pulled: bad name"),
        (
            "CreateContainerConfigError",
            'secret "s" not found',
            'container node cannot start: secret "s" not found',
        ),
    ],
)
def test_what_does_not_pass_by_itself_is_stuck(
    either: ClusterRuns, world: World, job: Job, reason: str, message: str, sentence: str
) -> None:
    either.submit(job.submission())
    statuses = [container(waiting(reason, message))]
    world.pod(POD, node="n1", phase="Pending", containerStatuses=statuses)
    assert now(either, job).stuck == f"pod {POD}: {sentence}"


def test_a_node_that_does_not_answer_is_named(either: ClusterRuns, world: World, job: Job) -> None:
    either.submit(job.submission())
    node = f"node-of-{world.namespace}"
    world.make("Node", {"metadata": {"name": node}})
    world.pod(
        POD,
        node=node,
        phase="Running",
        conditions=[{"type": "Ready", "status": "True"}],
        containerStatuses=[container(RUNNING)],
    )
    silent = {
        "type": "Ready",
        "status": "Unknown",
        "reason": "NodeStatusUnknown",
        "message": "Kubelet stopped posting node status.",
        "lastTransitionTime": "2026-11-21T12:00:30Z",
    }
    world.status("Node", node, {"conditions": [silent]})
    assert now(either, job).stuck == ""
    world.pod(
        POD,
        phase="Running",
        conditions=[{"type": "Ready", "status": "False"}],
        containerStatuses=[container(RUNNING)],
    )
    assert now(either, job).stuck == (
        f"pod {POD} is on node {node}, which does not answer since 2026-11-21T12:00:30Z: "
        "Kubelet stopped posting node status."
    )


def test_many_runs_are_read_from_lists_and_are_the_same(
    cluster: Cluster, world: World, job: Job
) -> None:
    names = [f"tj{index}" for index in range(12)]
    for name in names:
        cluster.submit(Job(job.namespace, name, content=name).submission())
    world.pod("tj3-node-0-0-abcde", "tj3", phase="Running", containerStatuses=[container(RUNNING)])
    world.client.delete(world.path("JobSet", "tj5"))
    found = [cluster.get(job.namespace, name) for name in names]
    assert [each and (each.name, each.phase) for each in found] == [
        (name, {"tj3": "Running", "tj5": "Lost"}.get(name, "Created")) for name in names
    ]
    listed = cluster.list_runs(job.namespace).runs
    assert [timeless(each) for each in found] == [
        timeless(each) for each in sorted(listed, key=lambda each: names.index(each.name))
    ]
    # What this process writes is seen at once.
    after = cluster.submit(Job(job.namespace, "tj99", content="x").submission())
    assert timeless(cluster.get(job.namespace, "tj99")) == timeless(after)


def timeless(run: Run | None) -> Run:
    """The run without what it waits for: that changes once a controller has been silent for long."""
    assert run is not None
    return replace(run, waiting_for="", cause="", stuck="")


def test_what_kueue_suspended_is_created_and_no_drift(
    cluster: Cluster, world: World, job: Job
) -> None:
    job.metadata = {"labels": {"kueue.x-k8s.io/queue-name": "research"}}
    cluster.submit(job.submission())

    def suspend(value: dict[str, Any]) -> None:
        value["spec"]["suspend"] = True

    world.change("JobSet", "tj", suspend, fieldManager="kueue")
    run = now(cluster, job)
    assert (run.phase, run.drift) == ("Created", {})
    assert run.waiting_for.startswith("admission by Kueue to queue research")


def test_what_happened_to_a_run_is_told_in_order(
    either: ClusterRuns, world: World, job: Job
) -> None:
    either.submit(job.submission())
    world.pod(POD, phase="Running", containerStatuses=[container(RUNNING)])
    world.status("JobSet", "tj", {"replicatedJobsStatus": [COUNTS]})
    world.event(POD, "Started", "Started container node", at="2999-01-01T12:00:00Z")
    world.event(POD, "Pulling", 'Pulling image "acme/train:1"')
    world.event("other-node-0-0-abcde", "Pulling", "of another run")
    described = either.described(RunKey(job.namespace, "tj"))
    assert described is not None
    assert described.run == now(either, job)
    assert described.run.status["jobsStatus"] == [COUNTS]
    assert [(each.about, each.reason, each.count) for each in described.events] == [
        (f"Pod {POD}", "Pulling", 1),
        (f"Pod {POD}", "Started", 1),
    ]
    assert either.described(RunKey(job.namespace, "other")) is None
