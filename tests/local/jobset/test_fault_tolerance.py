"""What `with_fault_tolerance` puts on a runtime does what it says, from exit code to JobSet."""

from dataclasses import replace
from typing import Any

import pytest

from tests.local.jobset.worlds import T0, World
from trainer_infra import FaultTolerance, catalog, with_fault_tolerance
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.local import unsupported_fields
from trainer_infra.local.jobset import failure_policy, replicated_job
from trainer_infra.local.jobset import job as jobs
from trainer_infra.local.jobset.failure_policy import Restart
from trainer_infra.local.jobset.job import JobFailure
from trainer_infra.render import pipeline

EVERYTHING = [("node", 0, 1), ("node", 1, 1)]


def world(**tolerance: Any) -> World:
    """A TrainJob of two nodes on a fault-tolerant runtime, rendered and running."""
    runtime = with_fault_tolerance(catalog.get("torch-distributed"), FaultTolerance(**tolerance))
    spec = {"runtimeRef": {"name": "torch-distributed"}, "trainer": {"numNodes": 2}}
    job = TrainJob.from_wire({"metadata": {"name": "tj", "namespace": "n"}, "spec": spec})
    job_set = pipeline.render(job, runtime)[-1]["spec"]
    assert unsupported_fields.unsupported_fields(job_set) == ()
    made = World(dict(job_set))
    made.step()
    return made


def failed_with(made: World, code: int) -> str:
    """Reason and message of the JobSet's last condition after a node has ended with that code."""
    made.seconds += 1
    made.end("node", code, index=1)
    condition = made.step().status["conditions"][-1]
    made.step()
    return f"{condition['type']}: {condition['reason']}: {condition['message']}"


def test_a_killed_node_restarts_all_nodes_and_a_users_error_fails_at_once() -> None:
    made = world(max_restarts=3)
    restarting = "RestartingJobSet: DefaultFailurePolicy: applying RestartJobSet failure policy"
    assert failed_with(made, 137) == f"{restarting} action (first failed job: tj-node-0)"
    assert made.running == EVERYTHING
    failed = "Failed: FailJobSetFailurePolicyAction: applying FailJobSet failure policy action"
    assert failed_with(made, 1) == f"{failed} (first failed job: tj-node-0)"
    assert made.running == []


def test_restarts_end_at_their_maximum() -> None:
    made = world(max_restarts=1)
    failed_with(made, 143)
    assert failed_with(made, 143).startswith("Failed: ReachedMaxRestarts: ")


def test_codes_that_count_not_restart_beyond_the_maximum() -> None:
    made = world(max_restarts=0, uncounted_exit_codes=(143,))
    for attempt in (1, 2, 3):
        assert failed_with(made, 143).startswith("RestartingJobSet: ")
        assert made.running == [("node", 0, attempt), ("node", 1, attempt)]
    assert failed_with(made, 137).startswith("Failed: ReachedMaxRestarts: ")


@pytest.mark.parametrize(("code", "restarts"), [(1, False), (2, False), (3, True), (137, True)])
def test_with_a_list_of_user_errors_every_other_code_restarts(code: int, restarts: bool) -> None:
    made = world(fail_fast_exit_codes=(1, 2))
    assert failed_with(made, code).startswith("RestartingJobSet" if restarts else "Failed")


def test_with_a_backoff_limit_a_pod_is_replaced_before_all_restart() -> None:
    made = world(backoff_limit=1)
    made.end("node", 137, index=1)
    made.seconds = 60
    made.step()
    assert made.running == [("node", 0, 0), ("node", 1, 0)]
    assert failed_with(made, 137).startswith("RestartingJobSet")


def test_a_preempted_node_restarts_all_nodes_without_counting() -> None:
    """Only a cluster preempts: the Job's message is the one of Kubernetes 1.34."""
    spec = world(max_restarts=0).spec
    (job,) = jobs.observe_job("tj", replicated_job.read_jobs(spec), (), run=0, attempt=0)
    message = (
        "Pod n/tj-node-0-1-x7k2p has condition DisruptionTarget matching FailJob rule at index 0"
    )
    failure = JobFailure("PodFailurePolicy", message, T0)
    assert failure_policy.apply_policy(
        spec, [replace(job, failure=failure)], restarts=0
    ) == Restart(
        "FailurePolicy_preempted",
        "applying RestartJobSetAndIgnoreMaxRestarts failure policy action "
        "(first failed job: tj-node-0)",
        counts=False,
    )
