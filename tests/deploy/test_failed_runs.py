"""Runs that nobody waits for are named when they begin and when they have failed; and run again."""

import re
from pathlib import Path

import pytest

from tests.deploy.project import Stack, until
from tests.deploy.test_batch import HEAD

MENDABLE = """
def once(path):
    import os, sys
    sys.exit(0 if os.path.exists(path) else 42)

job = TrainJob("job", runtime="jax-distributed", trainer=CustomTrainer(once, func_args={{"path": {path!r}}}){more})
"""


def mendable(path: Path, more: str = "") -> str:
    return MENDABLE.format(path=str(path), more=more)


def refreshed(stack: Stack) -> str:
    return stack.run("refresh", "--yes", "--skip-preview", "--diff")


def has_ended(stack: Stack) -> bool:
    return {each["phase"] for each in stack.runs()} <= {"Failed", "Complete"}


def test_a_run_that_failed_unseen_is_named_by_refresh_and_by_the_next_up(
    stack: Stack, tmp_path: Path
) -> None:
    mended = tmp_path / "mended"
    stack.program(mendable(mended))

    shown = stack.up()

    (run,) = stack.runs()
    assert f"{run['name']} is submitted; `trainer-infra logs -f {run['name']}` follows it" in shown
    until(lambda: has_ended(stack), pause=1)
    failed = (
        rf"TrainJob {run['name']} failed: .*pod .*42.*; see `trainer-infra logs {run['name']}`; "
        rf"`trainer-infra retry {run['name']}` runs it again"
    )
    for said in (stack.preview(), stack.up(), refreshed(stack)):
        assert len(re.findall(failed, said)) == 1, said

    mended.touch()
    assert f"{run['name']} runs again" in stack.trainer("retry", run["name"])
    until(lambda: {each["phase"] for each in stack.runs()} == {"Complete"}, pause=1)

    for said in (stack.preview(), stack.up(), refreshed(stack)):
        assert "failed" not in said
    assert stack.job()["lastSeen"] == "Complete"
    stack.unchanged()


@pytest.mark.soak
def test_a_run_that_was_retried_is_what_the_next_up_waits_for(stack: Stack, tmp_path: Path) -> None:
    mended = tmp_path / "mended"
    stack.program(mendable(mended, ', wait_for="complete"') + 'pulumi.export("was", job.status)\n')
    shown = stack.up(ok=False)
    (run,) = stack.runs()
    assert f"run it again as it is: trainer-infra retry {run['name']}" in shown
    assert "is submitted" in shown
    assert f"see `trainer-infra logs {run['name']}`" not in shown, "the gate says it"
    mended.touch()
    stack.trainer("retry", run["name"])

    again = stack.up()

    assert "failed" not in again
    assert stack.outputs() == {"was": "Complete"}
    assert [each["uid"] for each in stack.runs()] == [run["uid"]]
    stack.unchanged()


@pytest.mark.soak
def test_members_that_failed_unseen_are_named_once(stack: Stack, tmp_path: Path) -> None:
    mended = tmp_path / "mended"
    program = (
        HEAD
        + MENDABLE.partition("job =")[0].format()
        + f"""
members = {{n: {{"runtime": "jax-distributed", "trainer": CustomTrainer(once, func_args={{"path": p}})}}
           for n, p in (("a", {str(mended)!r}), ("b", {str(tmp_path)!r}))}}
sweep = TrainJobs("sweep", members)
"""
    )
    stack.program(program)
    shown = stack.up()
    assert "2 runs are submitted; `trainer-infra get` lists them" in shown
    until(lambda: has_ended(stack), pause=1)
    name = next(each["name"] for each in stack.runs() if each["phase"] == "Failed")

    for said in (stack.preview(), stack.up(), refreshed(stack)):
        assert said.count(f"TrainJob {name} failed") == 1
        assert "\n    b: " not in said

    mended.touch()
    stack.trainer("retry", name)
    until(lambda: {each["phase"] for each in stack.runs()} == {"Complete"}, pause=1)
    assert "failed" not in stack.up()
