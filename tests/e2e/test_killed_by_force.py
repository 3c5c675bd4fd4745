"""Runs on this machine that are killed by force again and again go on from their checkpoints.

The figures are those of each strike, beside those of a run that saves nothing: `pytest -s` shows them.
"""

from functools import partial
from pathlib import Path

import psutil

from tests.deploy.project import Stack, processes_of
from tests.e2e.jobs import eventually
from tests.e2e.killed_by_force import TIMES, TRAINING, Struck, completed, phase, strike
from tests.engine.fixtures import engine_stack, stack
from trainer_infra import names

__all__ = ("engine_stack", "stack")


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
