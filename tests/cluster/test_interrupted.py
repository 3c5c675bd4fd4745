"""A process that is killed at any request of a submit or a delete harms nothing.

The killed process is a real one: its client stops at the n-th request, before or after the server
has done it, and is killed there.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from from_source.cluster.apiserver import RunningServer
from tests.cluster.submissions import CODE, SECRET, Job
from tests.cluster.world import World
from trainer_infra.cluster.provider.engine_provider import Cluster
from trainer_infra.runs.run import RunKey

ROOT = Path(__file__).parents[2]
ALL = {
    "ConfigMap": [f"tj-code-{CODE.digest()}", "tj-runtime-snapshot"],
    "JobSet": ["tj"],
    "Secret": ["tj-secret"],
}
SUBMIT = ("before 1", "after 1", "after 2", "after 3", "before 4", "after 4", "after 5")
"""Its writes are: record, code and Secret in any order, JobSet, mark."""


def job_of(world: World) -> Job:
    return Job(world.namespace, secrets={"token": SECRET})


def started(
    api_server: RunningServer, world: World, verb: str, point: str
) -> "subprocess.Popen[str]":
    """A process that submits or deletes and hangs at a write; it has come that far."""
    script = ROOT / "tests" / "cluster" / "hanging.py"
    command = [
        sys.executable,
        str(script),
        str(api_server.kubeconfig),
        world.namespace,
        verb,
        point,
    ]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "hangs\n"
    return process


def killed(process: "subprocess.Popen[str]") -> None:
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert process.stdout is not None
    process.stdout.close()


@pytest.mark.parametrize("point", SUBMIT)
def test_a_submit_that_was_killed_is_completed_by_the_next_one(
    api_server: RunningServer, cluster: Cluster, world: World, point: str
) -> None:
    process = started(api_server, world, "submit", point)
    killed(process)
    before = world.get("ConfigMap", "tj-runtime-snapshot")
    run = cluster.submit(job_of(world).submission())
    assert world.all_names() == ALL
    assert before is None or before["metadata"]["uid"] == run.uid
    assert cluster.get(world.namespace, "tj", run.uid) == run
    assert run.phase == "Created"


@pytest.mark.parametrize("point", SUBMIT)
def test_a_submit_is_completed_while_another_process_hangs_in_the_middle_of_it(
    api_server: RunningServer, cluster: Cluster, world: World, point: str
) -> None:
    process = started(api_server, world, "submit", point)
    try:
        run = cluster.submit(job_of(world).submission())
        jobset = world.there("JobSet", "tj")["metadata"]["uid"]
        process.send_signal(signal.SIGUSR1)
        assert process.wait(30) == 0
    finally:
        killed(process)
    assert world.all_names() == ALL
    assert world.there("JobSet", "tj")["metadata"]["uid"] == jobset
    assert cluster.get(world.namespace, "tj", run.uid) == run


POINTS = ["before 1", "after 1", "after 2", "after 3", "after 4"]


@pytest.mark.usefixtures("collector")
@pytest.mark.parametrize("point", POINTS)
def test_a_killed_submit_is_listed_and_can_be_deleted(
    api_server: RunningServer, cluster: Cluster, world: World, point: str
) -> None:
    killed(started(api_server, world, "submit", point))
    found = cluster.list_runs(world.namespace).runs
    waits = "its submit, which did not end yet or was interrupted"
    if point == "after 4":
        waits = "pods of node are being made"
    shown = [(each.name, each.phase, each.waiting_for) for each in found]
    assert shown == ([] if point == "before 1" else [("tj", "Created", waits)])
    for run in found:
        assert cluster.delete(RunKey(world.namespace, "tj", run.uid), 5) == ""
    assert world.all_names() == {}


@pytest.mark.usefixtures("collector")
@pytest.mark.parametrize("point", POINTS)
def test_a_delete_that_was_killed_is_completed_by_the_next_one(
    api_server: RunningServer, cluster: Cluster, world: World, point: str
) -> None:
    """Its writes are: JobSet, code and Secret in any order, record."""
    run = cluster.submit(job_of(world).submission())
    killed(started(api_server, world, f"delete {run.uid}", point))
    assert cluster.delete(RunKey(world.namespace, "tj", run.uid), 5) == ""
    assert world.all_names() == {}
    assert cluster.get(world.namespace, "tj", run.uid) is None


@pytest.mark.usefixtures("collector")
def test_a_run_that_is_deleted_while_it_is_submitted_leaves_nothing(
    api_server: RunningServer, cluster: Cluster, world: World
) -> None:
    process = started(api_server, world, "submit", "before 4")
    try:
        (run,) = cluster.list_runs(world.namespace).runs
        assert cluster.delete(RunKey(world.namespace, "tj", run.uid), 5) == ""
        process.send_signal(signal.SIGUSR1)
        assert process.wait(30) == 1
    finally:
        killed(process)
    assert world.all_names() == {}
