"""`trainer-infra gc` with the real Pulumi CLI: what no state owns goes, what one owns stays."""

from pathlib import Path

from tests.deploy.project import Stack

PROGRAM = """
import pulumi
from trainer_infra import CustomTrainer, TrainJob

def train(pause=0):
    import time
    time.sleep(pause)

for name in ("kept", "lost"):
    TrainJob(
        name,
        runtime="jax-distributed",
        name=name,
        trainer=CustomTrainer(train, func_args={"pause": 600}),
    )
"""


def test_gc_deletes_the_runs_that_no_state_owns(stack: Stack) -> None:
    (stack.folder / "__main__.py").write_text(PROGRAM)
    stack.up()
    nothing = stack.trainer("gc", "--stack", "test")
    assert nothing == "no run of stack test of project project is without a resource\n"

    # What a killed create leaves: a run, and a state that does not know it.
    (lost,) = [
        each["urn"]
        for each in stack.resources("dynamic/trainer:TrainJob")
        if each["urn"].endswith("::lost")
    ]
    stack.run("state", "delete", lost, "--yes")

    said = stack.trainer("gc", "--stack", "test", "--yes").splitlines()
    assert said[0] == "runs of stack test of project project that its state does not know:"
    assert said[1].startswith("  default/lost (Running, ")
    assert said[2:] == ["default/lost deleted"]
    assert {each["name"]: each["phase"] for each in stack.runs()} == {"kept": "Running"}
    stack.run("destroy", "--yes", "--skip-preview")


def test_gc_outside_a_pulumi_program_says_so(stack: Stack, tmp_path: Path) -> None:
    elsewhere = Stack(tmp_path, stack.env)
    assert elsewhere.trainer("gc", "--stack", "test", ok=False) == (
        f"{tmp_path} is in no Pulumi program: no Pulumi.yaml here or above; run gc in the "
        "program's folder\n"
    )


def test_gc_without_the_pulumi_command_says_so(stack: Stack) -> None:
    without = Stack(stack.folder, {**stack.env, "PATH": "/nowhere"})
    assert without.trainer("gc", "--stack", "test", ok=False) == (
        "gc needs the `pulumi` command, which is not on PATH: activate the virtual environment "
        "of `make setup`, or install Pulumi\n"
    )


def test_gc_of_an_unknown_stack_names_it(stack: Stack) -> None:
    said = stack.trainer("gc", "--stack", "tset", ok=False)
    assert said.startswith("the state of stack tset cannot be read: ")
    assert "Traceback" not in said
