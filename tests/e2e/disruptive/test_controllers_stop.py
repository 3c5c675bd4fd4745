"""A controller that all runs need stops: what nobody does any more is named, and the gate ends."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from textwrap import dedent

import pytest

from from_source.cluster import up
from tests.deploy.project import Stack
from tests.e2e.cluster import PROGRAM, Namespace
from tests.e2e.jobs import Jobs, eventually
from tests.e2e.standstills import CASES
from trainer_infra.runs.run import Run
from trainer_infra.runs.waiting_cause import Cause

PLAIN = next(each for each in CASES if each.cause is Cause.INITIALIZING)
"""A run that starts where nothing is in its way."""
JOB = """
TrainJob("job", runtime="jax-distributed", namespace=NS, trainer=on(), wait_for="complete")
"""
CONTROLLER = ("-n", "jobset-system")
DEPLOYMENT = "deployment/jobset-controller-manager"


@contextmanager
def without_controller_manager() -> Iterator[None]:
    manager = up.component("kube-controller-manager")
    manager.stop()
    try:
        yield
    finally:
        manager.start()


def named(jobs: Jobs, cause: Cause, said: str) -> Run | None:
    run = jobs.now()
    return run if run.cause == cause and said in run.waiting_for else None


def test_a_job_controller_that_is_down_is_named_and_the_run_goes_on_with_it(
    namespace: Namespace, image: str
) -> None:
    assert image
    jobs = Jobs(namespace)
    # The namespace's ServiceAccount is made by the controller manager too.
    eventually(lambda: namespace.names("serviceaccounts") == ["default"])
    with without_controller_manager():
        jobs.start(PLAIN.runtime(namespace), {"numNodes": 1})
        said = "the Job controller has done nothing with Job tj-node-0 since"
        eventually(lambda: named(jobs, Cause.JOB_CONTROLLER_SILENT, said))
    eventually(lambda: named(jobs, PLAIN.cause, PLAIN.said))


@pytest.mark.soak
def test_a_jobset_controller_that_stops_acting_is_named_and_ends_the_gate(
    cli_cluster_stack: Stack, namespace: Namespace
) -> None:
    """With the controller gone altogether its own webhook refuses the JobSet at submit."""
    cli_cluster_stack.program(PROGRAM + dedent(JOB))
    with (
        without_jobset_controller(namespace),
        cli_cluster_stack.start("up", "--yes", "--skip-preview") as process,
    ):
        # The gate bears with a controller that restarts for two minutes.
        shown, _ = process.communicate(timeout=300)
    assert process.returncode != 0
    assert "is stuck: JobSet's controller has done nothing with its JobSet since" in shown
    cli_cluster_stack.up()
    (jobset,) = namespace.all("jobsets")
    assert jobset["status"]["terminalState"] == "Completed"


@contextmanager
def without_jobset_controller(namespace: Namespace) -> Iterator[None]:
    """Another process holds its lease; its webhooks answer all the same."""
    before = restarts(namespace)
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    taken = {"holderIdentity": "nobody", "leaseDurationSeconds": 3600, "renewTime": now}
    patch = ("--type=merge", "-p", json.dumps({"spec": taken}))
    (lease,) = json.loads(namespace.kubectl(*CONTROLLER, "get", "lease", "-o", "json"))["items"]
    name = lease["metadata"]["name"]
    namespace.kubectl(*CONTROLLER, "patch", "lease", name, *patch)
    try:
        # Who loses it ends, and comes back without it.
        eventually(lambda: restarts(namespace) > before, 120)
        namespace.kubectl(*CONTROLLER, "rollout", "status", DEPLOYMENT, "--timeout=240s")
        yield
    finally:
        namespace.kubectl(*CONTROLLER, "delete", "lease", name)


def restarts(namespace: Namespace) -> int:
    """How often the controller's pods were started again."""
    pods = json.loads(namespace.kubectl(*CONTROLLER, "get", "pods", "-o", "json"))["items"]
    statuses = (each["status"].get("containerStatuses", ()) for each in pods)
    return sum(each["restartCount"] for one in statuses for each in one)
