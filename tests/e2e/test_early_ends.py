"""Engine `provider` on a real cluster: who ended with 0 since he was told to has not completed his run."""

import pytest

from tests.e2e.cluster import Namespace
from tests.e2e.jobs import Jobs
from tests.e2e.told_pods import POLICIES, TELLERS, Nodes, runtime, trainer
from tests.soak_sample import sampled
from trainer_infra.cluster.provider.engine_provider import Cluster
from trainer_infra.runs.run import Run

COMPLETE = ("Complete", "AllJobsCompleted", "jobset completed successfully")


@pytest.fixture
def nodes(namespace: Namespace) -> Nodes:
    return Nodes(namespace)


def as_ended(run: Run) -> tuple[str, str, str]:
    return run.phase, run.reason, run.message


def unwatched(jobs: Jobs) -> Run:
    """The run as a program sees it that has never looked before."""
    cluster = Cluster(str(jobs.namespace.kubeconfig))
    try:
        run = cluster.get(jobs.namespace.name, "tj")
    finally:
        cluster.close()
    assert run is not None
    return run


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("how", TELLERS)
def test_a_pod_that_was_told_to_end_and_ended_with_0_is_seen_by_who_looks(
    nodes: Nodes, how: str, policy: str
) -> None:
    jobs = Jobs(nodes.namespace)
    jobs.start(runtime(policy), trainer(0))
    nodes.begun()
    assert jobs.now().phase == "Running"
    pod = nodes.tell(how, 1)
    assert jobs.now().phase == "Running"
    nodes.end(0)
    phase, reason, message = as_ended(jobs.finished())
    assert (phase, reason) == ("Failed", "EndedEarly"), message
    assert message.startswith(f"pod {pod} {how} and ended with 0, which Kubernetes counts")


@pytest.mark.parametrize("how", sampled(TELLERS, every=2))
def test_where_nobody_looked_the_kubelets_events_tell(nodes: Nodes, how: str) -> None:
    jobs = Jobs(nodes.namespace)
    jobs.start(runtime(), trainer(0))
    nodes.begun()
    pod = nodes.tell(how, 1)
    nodes.end(0)
    nodes.completed()
    phase, reason, message = as_ended(unwatched(jobs))
    assert (phase, reason) == ("Failed", "EndedEarly"), message
    assert message.startswith(f"pod {pod} was told to end and ended with 0")


@pytest.mark.parametrize("policy", sampled(POLICIES, every=2))
@pytest.mark.parametrize("how", sampled(TELLERS, every=2))
def test_a_pod_that_ends_with_143_is_made_again_and_the_run_completes(
    nodes: Nodes, how: str, policy: str
) -> None:
    jobs = Jobs(nodes.namespace)
    jobs.start(runtime(policy), trainer(143))
    nodes.begun()
    nodes.tell(how, 1)
    nodes.end(0, 1)
    assert as_ended(jobs.finished()) == COMPLETE


def test_pods_that_are_removed_after_they_have_ended_leave_the_run_complete(nodes: Nodes) -> None:
    jobs = Jobs(nodes.namespace)
    jobs.start(runtime(), trainer(0))
    nodes.begun()
    nodes.end(1)
    nodes.clean_ended()
    nodes.end(0)
    nodes.completed()
    nodes.clean()
    assert as_ended(unwatched(jobs)) == COMPLETE
