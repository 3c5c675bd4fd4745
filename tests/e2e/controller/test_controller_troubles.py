"""What goes wrong with TrainJobs in a cluster: killed commands, lost TrainJobs, a controller that stands."""

import json
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from tests.deploy.project import Stack, providers_of, read_until, until
from tests.e2e.cluster import PROGRAM, Namespace
from tests.e2e.control_plane import DEPLOYMENT, SYSTEM
from tests.e2e.jobs import eventually
from tests.e2e.slow_link import SlowLink, slow_link
from tests.soak_sample import sampled

JOB = """
TrainJob("job", runtime="jax-distributed", namespace=NS, trainer=on(seconds={seconds}), {more})
"""
Make = Callable[..., Stack]


def program(seconds: float, more: str = "") -> str:
    return PROGRAM + dedent(JOB.format(seconds=seconds, more=more))


@pytest.fixture
def stack(controller_stack: Make) -> Stack:
    return controller_stack()


@pytest.fixture
def cli_stack(cli_controller_stack: Make) -> Stack:
    """One of the real CLI, to be struck."""
    return cli_controller_stack()


@pytest.fixture
def link(cli_stack: Stack, namespace: Namespace, tmp_path: Path) -> Iterator[SlowLink]:
    """The link through which the stack reaches the cluster; the tests' own kubectl does not."""
    copy = tmp_path / "slow-kubeconfig"
    with slow_link(namespace.kubeconfig, copy) as made:
        cli_stack.run("config", "set", "trainer:kubeconfig", str(copy))
        yield made


def code_of(namespace: Namespace) -> list[dict[str, Any]]:
    return [each for each in namespace.all("configmaps") if each.get("immutable")]


STEPS = {
    "the code": lambda namespace: bool(code_of(namespace)),
    "the TrainJob": lambda namespace: bool(namespace.names("trainjobs")),
}


def end_providers(stack: Stack) -> None:
    for process in providers_of(stack.folder):
        process.kill()
        process.wait(10)


@pytest.mark.parametrize("step", sampled(STEPS, every=2))
def test_killed_after_each_step_of_a_create_the_next_up_ends_with_exactly_one_run(
    cli_stack: Stack, namespace: Namespace, link: SlowLink, step: str
) -> None:
    cli_stack.program(program(0.0))
    link.delay = 0.5
    with cli_stack.start("up", "--yes", "--skip-preview") as process:
        until(partial(STEPS[step], namespace))
        process.kill()
    end_providers(cli_stack)
    link.delay = 0.0
    cli_stack.run("cancel", "--yes")
    cli_stack.up()
    state = cli_stack.job()
    (stored,) = namespace.all("trainjobs")
    assert (stored["metadata"]["name"], stored["metadata"]["uid"]) == (state["name"], state["uid"])
    (code,) = code_of(namespace)
    assert [each["uid"] for each in code["metadata"]["ownerReferences"]] == [state["uid"]]
    eventually(lambda: namespace.names("jobsets") == [state["name"]])
    cli_stack.unchanged()
    cli_stack.run("destroy", "--yes")


@pytest.mark.soak
def test_killed_during_the_gate_the_next_up_waits_for_the_same_run(
    cli_stack: Stack, namespace: Namespace
) -> None:
    cli_stack.program(program(8.0, 'wait_for="complete"'))
    with cli_stack.start("up", "--yes", "--skip-preview") as process:
        read_until("running", process)
        process.kill()
    end_providers(cli_stack)
    (before,) = namespace.all("jobsets")
    cli_stack.run("cancel", "--yes")
    cli_stack.up()
    (after,) = namespace.all("jobsets")
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    cli_stack.run("destroy", "--yes")
    assert namespace.names("jobsets") == []


def test_a_trainjob_that_is_deleted_is_lost_and_runs_again_with_another_attempt_alone(
    stack: Stack, namespace: Namespace
) -> None:
    stack.program(program(120.0, 'wait_for="running"'))
    stack.up()
    namespace.kubectl("delete", "trainjobs", "--all")
    shown = stack.run("refresh", "--yes")
    assert "was deleted, and was not seen to end: nothing runs it again by itself" in shown
    waited = stack.up(ok=False)
    assert "raise attempt to run it again" in waited
    assert namespace.names("trainjobs") == []
    stack.program(program(0.0, 'attempt=2, wait_for="complete"'))
    stack.up()
    assert len(namespace.names("trainjobs")) == 1
    stack.run("destroy", "--yes")
    assert namespace.names("trainjobs") == []


def test_engine_provider_beside_the_controller_is_a_warning_and_its_runs_are_listed_too(
    stack: Stack, namespace: Namespace, new_stack: Make
) -> None:
    other = new_stack("other")
    other.program(program(0.0, 'wait_for="complete"'))
    assert "serves TrainJobs, so a controller may be there" in other.run("preview")
    other.up()
    stack.program(program(0.0, 'wait_for="complete"'))
    stack.up()
    listed = stack.trainer("get", "-n", namespace.name)
    for each in (stack, other):
        assert each.job()["name"] in listed
        each.run("destroy", "--yes")
    assert namespace.names("jobsets") == []


def test_a_controller_that_stands_still_is_named(stack: Stack, namespace: Namespace) -> None:
    stack.program(program(300.0, 'wait_for="running"'))
    stack.up()
    name = stack.job()["name"]
    system = ("-n", SYSTEM, "scale", DEPLOYMENT)
    namespace.kubectl(*system, "--replicas=0")
    try:
        pods = ("-n", SYSTEM, "get", "pods", "-o", "name")
        eventually(lambda: not namespace.kubectl(*pods).strip().startswith("pod/"))
        namespace.kubectl("delete", "jobset", name)
        # Its own time to make it has to be over first.
        shown = ("get", "-o", "json", "-n", namespace.name)
        late = f"has not made JobSet {name}"
        found = eventually(lambda: said if late in (said := stack.trainer(*shown)) else "")
        (run,) = json.loads(found)["items"]
        assert run["cause"] == "trainer-controller-silent"
    finally:
        namespace.kubectl(*system, "--replicas=1")
        namespace.kubectl("-n", SYSTEM, "rollout", "status", DEPLOYMENT, "--timeout=240s")
    eventually(lambda: namespace.names("jobsets") == [name])
    stack.run("destroy", "--yes")
