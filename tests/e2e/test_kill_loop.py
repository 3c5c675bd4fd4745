"""Two stacks of two backends in one namespace, struck again and again: each converges, alone.

Both have the same project, stack and resource names, as those of two colleagues have. `make e2e` runs
two rounds, `make soak` a hundred (ROUNDS). A round strikes an `up`, a `refresh` or a `destroy` while the
command lives, then cancels and runs one `up`, as its user would.
"""

import os
import random
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from textwrap import dedent
from typing import Any

import psutil
import pytest

from tests.deploy.project import Stack, processes_of, providers_of
from tests.e2e.cluster import PROGRAM, Namespace
from tests.e2e.jobs import LONG

ROUNDS = int(os.environ.get("ROUNDS", "2"))
ROUNDS_OF_ONE = min(5, ROUNDS)
"""Of one pair of stacks."""

RUNS = """
from trainer_infra import TrainJobs

def held(text):
    return {{"runtime": "jax-distributed", "namespace": NS, "suspend": True, "trainer": on(text=text),
             "annotations": {{"round": "{number}"}}}}

for index in range(2):
    TrainJob(f"job-{{index}}", **held(f"{whose} {{index}}"))
TrainJob("replaced", **held("{whose} {number}"))
TrainJob("secret", **{{**held("{whose}"), "trainer": CustomTrainer(train, image=place["image"],
         env={{"TOKEN": Secret("{whose}-{number}-token"), "WHOSE": "{whose}"}})}})
TrainJobs("many", {{f"m-{{index}}": held(f"{whose} {{index % 2 * {number}}} {{index}}") for index in range(3)}})
"""
ACTIONS = (("up", "--yes", "--skip-preview"), ("refresh", "--yes"), ("destroy", "--yes"))
KINDS = ("configmaps", "secrets", "jobsets")


@dataclass
class Strike:
    """How a command is struck, one of `HOW`, and after how many seconds."""

    how: str
    after: float


@dataclass
class Colleague:
    """One of two people with the same project, each with a backend."""

    stack: Stack
    whose: str
    home: Path
    """Where everything of theirs is, also their backend."""
    number: int = 0
    takes: dict[str, float] | None = None
    """Seconds of each action, undisturbed."""

    def change(self) -> None:
        """Change the program: some runs in place, some are replaced."""
        self.number += 1
        text = RUNS.format(whose=self.whose, number=self.number)
        self.stack.program(PROGRAM + dedent(text))

    def runs(self) -> dict[str, str]:
        """Name to uid of every run that the state has."""
        found = {}
        for each in self.stack.resources(""):
            outputs = each.get("outputs", {})
            jobs = {"TrainJob": [outputs], "TrainJobs": outputs.get("members", {}).values()}
            for job in jobs.get(each["type"].rpartition(":")[2], ()):
                found[job["name"]] = job["uid"]
        return found

    def processes(self) -> list[psutil.Process]:
        """Everything that runs for them."""
        return processes_of(self.home)


@pytest.fixture
def colleagues(
    new_cli_stack: Callable[..., Stack], tmp_path: Path
) -> Iterator[tuple[Colleague, Colleague]]:
    """Two of them, with everything deployed."""
    made = []
    for whose in ("mine", "theirs"):
        home = tmp_path / f"home-of-{whose}"
        (home / "backend").mkdir(parents=True)
        own = {
            "PULUMI_BACKEND_URL": f"file://{home / 'backend'}",
            "PULUMI_HOME": str(home / "pulumi-home"),
        }
        one = Colleague(new_cli_stack(whose, "shared", own), whose, home)
        one.takes = {}
        for action in (ACTIONS[2], ACTIONS[0], ACTIONS[1]):
            one.change()
            began = time.monotonic()
            one.stack.run(*action)
            one.takes[action[0]] = time.monotonic() - began
        made.append(one)
    yield made[0], made[1]
    for each in made:
        kill(each.processes())


def kill(processes: list[psutil.Process]) -> None:
    for each in processes:
        with suppress(psutil.NoSuchProcess):
            each.kill()


def kill_providers(one: Colleague, _process: "subprocess.Popen[str]") -> None:
    kill(providers_of(one.home))


def kill_all(one: Colleague, _process: "subprocess.Popen[str]") -> None:
    kill(one.processes())


def interrupt_twice(_one: Colleague, process: "subprocess.Popen[str]") -> None:
    process.send_signal(signal.SIGINT)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)


HOW: dict[str, Callable[[Colleague, "subprocess.Popen[str]"], None]] = {
    "SIGKILL to the CLI": lambda _, process: process.kill(),
    "SIGKILL to the provider": kill_providers,
    "SIGKILL to all": kill_all,
    "SIGINT": lambda _, process: process.send_signal(signal.SIGINT),
    "SIGINT twice": interrupt_twice,
}


def struck(one: Colleague, action: tuple[str, ...], strike: Strike) -> bool:
    """Run a command and strike it; whether it still lived then."""
    with one.stack.start(*action) as process:
        time.sleep(strike.after)
        lives = process.poll() is None
        HOW[strike.how](one, process)
        process.communicate(timeout=LONG)
    kill_all(one, process)
    return lives


def everything(namespace: Namespace, runs: dict[str, str]) -> dict[tuple[str, str], Any]:
    """What the cluster has of these runs: every object, without what JobSet says of its own."""
    return {
        (kind, each["metadata"]["name"]): (
            each["metadata"]["uid"],
            each["metadata"].get("generation") or each["metadata"]["resourceVersion"],
        )
        for kind in KINDS
        for each in namespace.all(kind)
        if each["metadata"].get("labels", {}).get("trainer-infra.dev/run") in runs
    }


@pytest.mark.parametrize("seed", range(-(-ROUNDS // ROUNDS_OF_ONE)))
def test_whatever_is_struck_one_up_later_all_is_there_once_and_the_other_stack_is_untouched(
    colleagues: tuple[Colleague, Colleague], namespace: Namespace, seed: int
) -> None:
    chance = random.Random(seed)
    rounds = 0
    while rounds < ROUNDS_OF_ONE:
        one, other = chance.sample(colleagues, 2)
        runs_of_other = other.runs()
        others = everything(namespace, runs_of_other)
        assert others
        action = chance.choice(ACTIONS)
        if action[0] == "up":
            one.change()
        takes = (one.takes or {})[action[0]]
        strike = Strike(chance.choice(list(HOW)), chance.uniform(0.2, 0.9) * takes)
        # One that came after the command's end is not a round: it is struck again, earlier.
        rounds += struck(one, action, strike)
        case = f"seed {seed}: {strike} at {' '.join(action)} of {one.whose}"

        one.stack.run("cancel", "--yes")
        one.stack.up()

        there = {
            each["metadata"]["name"]: each["metadata"]["ownerReferences"][0]["uid"]
            for each in namespace.all("jobsets")
            if "deletionTimestamp" not in each["metadata"]
        }
        mine = one.runs()
        assert len(mine) == 7, case
        # Runs of creates that Pulumi forgot are found by gc, and by nothing else.
        shown = one.stack.trainer("gc", "--stack", "test", "--yes", "--namespace", namespace.name)
        left = {name for name in there if f"{namespace.name}/{name} deleted" in shown}
        assert {name: uid for name, uid in there.items() if name not in left} == (
            mine | runs_of_other
        ), case
        assert other.runs() == runs_of_other, case
        assert everything(namespace, runs_of_other) == others, case
        one.stack.unchanged()
    for each in colleagues:
        each.stack.run("destroy", "--yes")
    assert namespace.names("jobsets") == []
    labelled = namespace.kubectl("get", "cm,secret", "-l", "trainer-infra.dev/run", "-o", "name")
    assert labelled == ""
