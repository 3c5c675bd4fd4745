"""Runs that are killed by force again and again, here and on a cluster, go on from their checkpoints.

The figures are those of each strike, beside those of a run that saves nothing: `pytest -s` shows them.
"""

import random
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path

import psutil
import pytest

from tests.deploy.project import Stack, processes_of
from tests.e2e.cluster import PROGRAM, Namespace
from tests.e2e.jobs import eventually
from tests.e2e.killed_by_force import TRAINING, Struck, ended, figures
from tests.e2e.test_outputs_and_retry import CLAIM
from tests.engine.fixtures import engine_stack, stack
from trainer_infra import names

__all__ = ("engine_stack", "stack")

Kill = Callable[[Struck, int], None]
TIMES = pytest.mark.parametrize("times", [3, pytest.param(50, marks=pytest.mark.soak)])


def strike(struck: Mapping[str, Struck], ways: Mapping[str, Kill], times: int) -> None:
    """Kill each run as often, in all ways in turn, and show the figures."""
    drawn = random.Random(times)
    for number in range(times):
        kill = ways[[*ways][number % len(ways)]]
        for each in struck.values():
            each.strike(partial(kill, each), drawn.randrange(2))
    print(figures(struck))  # noqa: T201  what the test is run for


def completed(struck: Struck) -> None:
    """See that both nodes have done every step once when they come to their end."""
    eventually(lambda: phase(struck) in {"Complete", "Failed"})
    ends = ended(struck.look())
    assert (phase(struck), len(ends)) == ("Complete", 2)
    assert all(sum_ == step * (step - 1) // 2 for step, sum_ in ends), ends


def phase(struck: Struck) -> str:
    return str(struck.run()["phase"])


def processes(struck: Struck, node: int | None = None) -> list[psutil.Process]:
    """Those of a run on this machine, or of a node of it."""
    words = [] if node is None else [f"{names.JOB_COMPLETION_INDEX}={node}"]
    return processes_of(Path(struck.stack.env[names.STATE_HOME]), f"{struck.run()['uid']}/", *words)


def kill_here(program: str, struck: Struck, node: int) -> None:
    for each in processes(struck, node):
        # The first process of a pod has the program that it starts in its command, too.
        if each.info["cmdline"][1].endswith(f"/{program}.py"):
            each.kill()


def kill_supervisor(struck: Struck, _node: int) -> None:
    """And do what its message says."""
    for each in processes(struck):
        if "trainer_infra.local.supervisor" in each.info["cmdline"]:
            each.kill()
    eventually(lambda: phase(struck) == "Failed")
    struck.stack.trainer("retry", struck.name)


@TIMES
def test_here_it_goes_on_when_a_program_a_pod_or_the_supervisor_is_killed(
    stack: Stack, times: int
) -> None:
    runs = ("saves", "starts-anew")
    jobs = (f'TrainJob("{each}", outputs=["ends"], **counting({each == "saves"}))' for each in runs)
    stack.program("\n".join((TRAINING, *jobs)))
    stack.up()
    struck = {each: Struck(stack, stack.job(each)["name"], saves=each == "saves") for each in runs}
    ways = {each: partial(kill_here, each) for each in ("main", "init")}
    strike(struck, {**ways, "supervisor": kill_supervisor}, times)
    for each in struck.values():
        (Path(each.run()["outputs"]["ends"]) / "now").touch()
        completed(each)


def pod_of(namespace: Namespace, struck: Struck, node: int) -> str:
    """The name of a node's pod."""
    start = f"{struck.name}-node-0-{node}-"
    (found,) = (
        each["metadata"]["name"]
        for each in namespace.all("pods")
        if each["metadata"]["name"].startswith(start) and each["status"]["phase"] == "Running"
    )
    return str(found)


def kill_there(program: str, namespace: Namespace, struck: Struck, node: int) -> None:
    """Kill a program in a pod, as the kernel does that has no memory left."""
    each = f'case "$2" in */{program}.py) kill -9 ${{pid#/proc/}};; esac'
    ours = f"for pid in /proc/[0-9]*; do set -- $(tr '\\0' ' ' < $pid/cmdline); {each}; done"
    with suppress(AssertionError):
        # The pod may be gone before its shell has ended.
        namespace.kubectl("exec", pod_of(namespace, struck, node), "--", "sh", "-c", ours)


def delete_by_force(namespace: Namespace, struck: Struck, node: int) -> None:
    pod = pod_of(namespace, struck, node)
    namespace.kubectl("delete", "pod", pod, "--force", "--grace-period=0")


def strike_on_a_cluster(stack: Stack, namespace: Namespace, times: int) -> None:
    """The same on a cluster."""
    namespace.kubectl("apply", "-f", "-", given=CLAIM)
    stack.run("config", "set", "trainer:outputs", "pvc://models")
    runs, more = ("saves", "starts-anew"), 'image=place["image"], resources_per_node={"cpu": "50m"}'
    jobs = (
        f'TrainJob("{each}", namespace=NS, outputs=["ends"], **counting({each == "saves"}, {more}))'
        for each in runs
    )
    stack.program("\n".join((PROGRAM, TRAINING, *jobs)))
    stack.up()
    struck = {
        each: Struck(stack, stack.job(each)["name"], ("-n", namespace.name), saves=each == "saves")
        for each in runs
    }
    ways = {
        "rank": partial(kill_there, "main", namespace),
        "pod": partial(delete_by_force, namespace),
    }
    strike(struck, ways, times)
    for each in struck.values():
        pod = eventually(partial(pod_of, namespace, each, 0))
        namespace.kubectl("exec", pod, "--", "sh", "-c", 'touch "$TRAINER_INFRA_OUTPUT_ENDS/now"')
        completed(each)


@TIMES
def test_on_a_cluster_it_goes_on_when_a_program_or_a_pod_is_killed(
    cluster_stack: Stack, namespace: Namespace, times: int
) -> None:
    strike_on_a_cluster(cluster_stack, namespace, times)
