"""Runs with a queue label in a real cluster without Kueue."""

from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pytest

from from_source.cluster import kueue
from tests.deploy.project import Stack, read_until
from tests.e2e.cluster import PROGRAM, Namespace
from tests.e2e.disruptive.queues import TRAINER, Queues, queued, runtime
from tests.e2e.jobs import LONG, eventually
from trainer_infra.runs.causes import kueue_causes as causes
from trainer_infra.runs.run import RunKey

JOB = """
TrainJob("job", runtime="jax-distributed", namespace=NS, name="job", trainer=on(seconds={seconds}),
         labels={{"kueue.x-k8s.io/queue-name": "team"}}, {more})
"""
GATE = 'wait_for="complete"'


def program(more: str, seconds: float = 0.0) -> str:
    return PROGRAM + dedent(JOB.format(more=more, seconds=seconds))


@pytest.fixture(autouse=True)
def without_kueue(kubeconfig: Path) -> Iterator[None]:
    kueue.remove(kubeconfig)
    yield
    kueue.remove(kubeconfig)


def test_a_run_that_is_held_back_says_so_and_suspend_false_resumes_it(
    cluster_stack: Stack, namespace: Namespace
) -> None:
    cluster_stack.program(program("suspend=True"))
    assert "has no Kueue, so that runs in its queues stay suspended" in cluster_stack.run("preview")
    shown = cluster_stack.run("up", "--yes", "--skip-preview")
    assert "has no Kueue, so that runs in its queues stay suspended" in shown
    described = cluster_stack.trainer("describe", "job", "-n", namespace.name)
    assert "admission by Kueue to queue team, but this cluster has no Kueue" in described
    cluster_stack.program(program(f"suspend=False, {GATE}"))
    cluster_stack.up()


@pytest.mark.soak
def test_a_gate_ends_on_a_run_that_kueue_suspended_before_it_was_taken_away(
    cli_cluster_stack: Stack, namespace: Namespace
) -> None:
    cli_cluster_stack.program(program(GATE, seconds=600.0))
    with cli_cluster_stack.start("up", "--yes", "--skip-preview") as process:
        shown = read_until("running", process)
        namespace.kubectl(
            "patch", "jobset", "job", "--type=merge", "-p", '{"spec":{"suspend":true}}'
        )
        rest, _ = process.communicate(timeout=LONG)
    assert process.returncode != 0, shown + rest
    assert (
        "TrainJob job is stuck: admission by Kueue to queue team, but this cluster has no" in rest
    )
    assert causes.ABSENT.help in rest
    assert "job resumed" in cli_cluster_stack.trainer("resume", "job", "-n", namespace.name)
    assert Queues(namespace).runs("job")


@pytest.mark.soak
def test_a_run_that_is_not_suspended_starts_at_once_with_a_warning(cluster_stack: Stack) -> None:
    cluster_stack.program(program(GATE))
    assert "start at once, unqueued" in cluster_stack.run("preview")
    assert "start at once, unqueued" in cluster_stack.run("up", "--yes", "--skip-preview")


def test_a_queued_run_is_stuck_once_kueue_was_taken_away(
    kubeconfig: Path, namespace: Namespace
) -> None:
    kueue.install(kubeconfig)
    namespace.kubectl("label", "namespace", namespace.name, f"{kueue.LABEL}=true")
    jobs = queued(namespace, "team")
    run = jobs.start(runtime(), TRAINER)
    Queues(namespace).workload()
    kueue.remove(kubeconfig)
    eventually(lambda: "this cluster has no Kueue" in jobs.now().stuck)
    jobs.cluster.suspend(RunKey(namespace.name, "tj", run.uid), False)
    eventually(lambda: jobs.now().phase == "Running")
