"""One program in two stacks: each has runs of its own."""

from dataclasses import replace

from tests.deploy.project import Stack

PROGRAM = """
from trainer_infra import TrainJobs
trainer = CustomTrainer(train, func_args={"seconds": 60.0})
TrainJob("job", runtime="jax-distributed", trainer=trainer, suspend=True%s)
TrainJobs("many", {"a": {"runtime": "jax-distributed", "trainer": trainer, "suspend": True}})
"""


def uids(stack: Stack) -> dict[str, set[str]]:
    """Of the runs of this machine, by stack."""
    found: dict[str, set[str]] = {}
    for run in stack.runs():
        found.setdefault(run["owner"]["stack"], set()).add(run["uid"])
    return found


def test_two_stacks_of_one_program_have_runs_of_their_own(stack: Stack) -> None:
    staging = replace(stack, name="staging")
    staging.run("stack", "init")
    staging.run("config", "set", "trainer:target", "local")
    stack.program(PROGRAM % "")
    stack.up()
    mine = uids(stack)
    staging.up()

    assert {name: len(each) for name, each in uids(stack).items()} == {"test": 2, "staging": 2}
    assert stack.job()["name"] != staging.job()["name"]
    stack.unchanged()
    staging.unchanged()
    staging.run("destroy", "--yes")
    assert uids(stack) == mine


def test_a_run_that_has_another_name_keeps_it(stack: Stack) -> None:
    # As one has that an earlier release named.
    stack.program(PROGRAM % ', name="job-01234567"')
    stack.up()
    stack.program(PROGRAM % "")
    stack.unchanged()
