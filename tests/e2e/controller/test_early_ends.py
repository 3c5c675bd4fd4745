"""Our controller on a real cluster: who ended with 0 since he was told to has not completed his TrainJob."""

import json

import pytest

from tests.e2e.cluster import Namespace
from tests.e2e.control_plane import DEPLOYMENT, SYSTEM, ControlPlanes
from tests.e2e.jobs import eventually
from tests.e2e.told_pods import POLICIES, TELLERS, Nodes, runtime, trainer
from tests.soak_sample import sampled
from trainer_infra import names

COMPLETE = ("Complete", "AllJobsCompleted", "jobset completed successfully")


@pytest.fixture
def nodes(control_planes: ControlPlanes, namespace: Namespace) -> Nodes:
    """Of TrainJobs that our controller drives."""
    control_planes.use(implementation="builtin")
    return Nodes(namespace)


def start(nodes: Nodes, code: int, policy: str = POLICIES[0]) -> None:
    """Post the TrainJob, and return once its nodes have begun."""
    wire = runtime(policy).to_wire()
    metadata = {**wire["metadata"], "name": "mine"}
    own = {**wire, "kind": names.TRAINING_RUNTIME, "metadata": metadata}
    ref = {"name": "mine", "kind": names.TRAINING_RUNTIME}
    job = {
        "apiVersion": names.API_VERSION,
        "kind": names.TRAIN_JOB,
        "metadata": {"name": "tj"},
        "spec": {"runtimeRef": ref, "trainer": trainer(code)},
    }
    for each in (own, job):
        nodes.namespace.kubectl("apply", "--server-side", "-f", "-", given=json.dumps(each))
    nodes.begun()


def end(nodes: Nodes) -> tuple[str, str, str]:
    """The condition with which the TrainJob ended."""

    def found() -> tuple[str, str, str] | None:
        status = nodes.namespace.one("trainjobs", "tj").get("status") or {}
        said = (each for each in status.get("conditions") or () if each["type"] != "Suspended")
        return next(((each["type"], each["reason"], each["message"]) for each in said), None)

    ended: tuple[str, str, str] = eventually(found)
    return ended


def scale(nodes: Nodes, replicas: int) -> None:
    """So many controllers, and no other."""
    nodes.namespace.kubectl("-n", SYSTEM, "scale", DEPLOYMENT, f"--replicas={replicas}")
    if replicas:
        nodes.namespace.kubectl("-n", SYSTEM, "rollout", "status", DEPLOYMENT, "--timeout=240s")
        return
    pods = ("-n", SYSTEM, "get", "pods", "-o", "name")
    eventually(lambda: not nodes.namespace.kubectl(*pods).strip().startswith("pod/"))


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("how", TELLERS)
def test_a_pod_that_was_told_to_end_and_ended_with_0_is_seen(
    nodes: Nodes, how: str, policy: str
) -> None:
    start(nodes, 0, policy)
    pod = nodes.tell(how, 1)
    told = eventually(
        lambda: [each for each in nodes.namespace.all("events") if each["reason"] == "EndedEarly"]
    )
    assert [each["involvedObject"]["kind"] for each in told] == ["TrainJob"]
    nodes.end(0)
    kind, reason, message = end(nodes)
    assert (kind, reason) == ("Failed", "EndedEarly"), message
    assert message.startswith(f"pod {pod} {how} and ended with 0, which Kubernetes counts")


@pytest.mark.parametrize("how", sampled(TELLERS, every=2))
def test_a_controller_that_was_away_at_that_moment_reads_it_from_events(
    nodes: Nodes, how: str
) -> None:
    start(nodes, 0)
    scale(nodes, 0)
    try:
        pod = nodes.tell(how, 1)
    finally:
        scale(nodes, 1)
    nodes.end(0)
    kind, reason, message = end(nodes)
    assert (kind, reason) == ("Failed", "EndedEarly"), message
    assert message.startswith(f"pod {pod} was told to end and ended with 0")


def test_a_controller_that_began_anew_since_knows_what_the_one_before_saw(nodes: Nodes) -> None:
    start(nodes, 0)
    pod = nodes.tell("was evicted from its node", 1)
    eventually(lambda: names.EARLY_ENDS in str(nodes.namespace.one("trainjobs", "tj")))
    scale(nodes, 0)
    nodes.namespace.kubectl("delete", "events", "--all")
    scale(nodes, 1)
    nodes.end(0)
    kind, reason, message = end(nodes)
    assert (kind, reason) == ("Failed", "EndedEarly"), message
    assert message.startswith(f"pod {pod} was evicted from its node and ended with 0")


@pytest.mark.parametrize("policy", sampled(POLICIES, every=2))
@pytest.mark.parametrize("how", sampled(TELLERS, every=2))
def test_a_pod_that_ends_with_143_is_made_again_and_the_trainjob_completes(
    nodes: Nodes, how: str, policy: str
) -> None:
    start(nodes, 143, policy)
    nodes.tell(how, 1)
    nodes.end(0, 1)
    assert end(nodes) == COMPLETE


def test_pods_that_are_removed_after_they_have_ended_leave_the_trainjob_complete(
    nodes: Nodes,
) -> None:
    start(nodes, 0)
    nodes.end(1)
    nodes.clean_ended()
    nodes.end(0)
    assert end(nodes) == COMPLETE
    nodes.clean()
    assert end(nodes) == COMPLETE


def test_a_trainjob_that_was_suspended_trains_again_though_its_pods_ended_with_0(
    nodes: Nodes,
) -> None:
    start(nodes, 0)
    for suspend in (True, False):
        patch = json.dumps({"spec": {"suspend": suspend}})
        nodes.namespace.kubectl("patch", "trainjob", "tj", "--type=merge", "-p", patch)
        if suspend:
            eventually(lambda: not nodes.namespace.names("pods"))
    nodes.begun()
    nodes.end(0, 1)
    assert end(nodes) == COMPLETE
