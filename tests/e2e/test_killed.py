"""Deployments to a real cluster that are killed half way: nothing is lost, nothing runs twice.

The link to the API server is slow here, so that every step of a create can be struck.
"""

import signal
import time
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pytest

from tests.deploy.project import Stack, providers_of, read_until, until
from tests.e2e.cluster import PROGRAM, Namespace
from tests.e2e.jobs import eventually
from tests.e2e.slow_link import SlowLink, slow_link

RECORD = "runtime-snapshot"

JOB = """
TrainJob("job", runtime="jax-distributed", namespace=NS, trainer=on(seconds={seconds}), {more})
"""


def program(seconds: float, more: str = "") -> str:
    return PROGRAM + dedent(JOB.format(seconds=seconds, more=more))


@pytest.fixture
def link(cli_cluster_stack: Stack, namespace: Namespace, tmp_path: Path) -> Iterator[SlowLink]:
    """The link through which the stack reaches the cluster; the tests' own kubectl does not."""
    copy = tmp_path / "slow-kubeconfig"
    with slow_link(namespace.kubeconfig, copy) as made:
        cli_cluster_stack.run("config", "set", "trainer:kubeconfig", str(copy))
        yield made


def killed_during_create(stack: Stack, namespace: Namespace, link: SlowLink) -> None:
    """SIGKILL the CLI once the run record exists and the JobSet does not."""
    link.delay = 0.5
    with stack.start("up", "--yes", "--skip-preview") as process:
        until(lambda: RECORD in str(namespace.names("configmaps")))
        process.kill()
    assert namespace.names("jobsets") == [], "killed too late"


def end_providers(folder: Path) -> None:
    for process in providers_of(folder):
        process.kill()
        process.wait(10)


def test_killed_during_create_the_next_up_ends_with_exactly_one_jobset(
    cli_cluster_stack: Stack, namespace: Namespace, link: SlowLink, tmp_path: Path
) -> None:
    cli_cluster_stack.program(program(0.0))
    killed_during_create(cli_cluster_stack, namespace, link)
    end_providers(tmp_path)
    link.delay = 0.0

    cli_cluster_stack.run("cancel", "--yes")
    cli_cluster_stack.up()

    assert namespace.names("jobsets") == [cli_cluster_stack.job()["name"]]
    cli_cluster_stack.unchanged()


@pytest.mark.soak
def test_also_while_the_provider_process_of_the_killed_up_is_still_alive(
    cli_cluster_stack: Stack, namespace: Namespace, link: SlowLink, tmp_path: Path
) -> None:
    cli_cluster_stack.program(program(0.0))
    killed_during_create(cli_cluster_stack, namespace, link)
    alive = providers_of(tmp_path)
    for process in alive:
        process.send_signal(signal.SIGSTOP)
    link.delay = 0.0
    cli_cluster_stack.run("cancel", "--yes")
    try:
        cli_cluster_stack.up()
        uids = [each["metadata"]["uid"] for each in namespace.all("jobsets")]
        assert len(uids) == 1
    finally:
        for process in alive:
            process.send_signal(signal.SIGCONT)
    # It goes on where it was, and finds what is there already.
    end = time.monotonic() + 5
    while time.monotonic() < end:
        assert [each["metadata"]["uid"] for each in namespace.all("jobsets")] == uids
    cli_cluster_stack.run("refresh", "--yes")
    cli_cluster_stack.unchanged()


@pytest.mark.soak
def test_killed_during_create_and_destroyed_gc_removes_what_is_left_and_the_next_up_names_it(
    cli_cluster_stack: Stack, namespace: Namespace, link: SlowLink, tmp_path: Path
) -> None:
    cli_cluster_stack.program(program(0.0, 'name="digits"'))
    killed_during_create(cli_cluster_stack, namespace, link)
    end_providers(tmp_path)
    link.delay = 0.0
    cli_cluster_stack.run("cancel", "--yes")
    cli_cluster_stack.run("destroy", "--yes")
    assert RECORD in str(namespace.names("configmaps"))

    cli_cluster_stack.program(program(1.0, 'name="digits"'))
    named = cli_cluster_stack.up(ok=False)
    assert f"{namespace.name}/digits exists with other content" in named

    shown = cli_cluster_stack.trainer("gc", "--stack", "test", "--yes")
    assert f"{namespace.name}/digits" in shown
    eventually(lambda: RECORD not in str(namespace.names("configmaps")))
    cli_cluster_stack.up()
    assert namespace.names("jobsets") == ["digits"]


@pytest.mark.soak
def test_killed_during_delete_the_next_destroy_ends_it(
    cli_cluster_stack: Stack, namespace: Namespace, tmp_path: Path
) -> None:
    cli_cluster_stack.program(program(60.0, 'wait_for="running"'))
    cli_cluster_stack.up()
    (jobset,) = namespace.all("jobsets")
    with cli_cluster_stack.start("destroy", "--yes") as process:
        until(
            lambda: all(
                each["metadata"].get("deletionTimestamp") for each in namespace.all("jobsets")
            )
        )
        process.kill()
    end_providers(tmp_path)

    cli_cluster_stack.run("cancel", "--yes")
    cli_cluster_stack.run("destroy", "--yes")

    assert namespace.names("jobsets") == []
    eventually(lambda: namespace.names("configmaps") == ["kube-root-ca.crt"])
    assert jobset["metadata"]["name"] not in cli_cluster_stack.trainer("get", "-n", namespace.name)


def test_killed_during_the_gate_the_next_up_waits_for_the_same_run(
    cli_cluster_stack: Stack, namespace: Namespace, tmp_path: Path
) -> None:
    cli_cluster_stack.program(program(8.0, 'wait_for="complete"'))
    with cli_cluster_stack.start("up", "--yes", "--skip-preview") as process:
        read_until("running", process)
        process.kill()
    end_providers(tmp_path)
    (jobset,) = namespace.all("jobsets")

    cli_cluster_stack.run("cancel", "--yes")
    cli_cluster_stack.up()

    (after,) = namespace.all("jobsets")
    assert after["metadata"]["uid"] == jobset["metadata"]["uid"]
    assert after["status"]["terminalState"] == "Completed"
