"""A run with a checkpoint goes on where it was when it is suspended, killed or made again."""

import json
import os
import re
import signal
from pathlib import Path

import pytest

from tests.deploy.project import Stack, processes_of
from tests.local.jobs import eventually
from trainer_infra.deploy.operations.properties import TrainJobProperties

SAVING = """
from trainer_infra import Checkpoint, TrainJobs

def count(steps, pause=0.0):
    import time
    from trainer_infra.checkpoint import Checkpointer
    checkpointer = Checkpointer()
    state = checkpointer.restore({{"step": 0, "sum": 0.0}})
    print("begins at", state["step"], flush=True)
    for step in range(state["step"], steps):
        state = {{"step": step + 1, "sum": state["sum"] + step * 0.1}}
        checkpointer.step(step + 1, state)
        print("has done", step + 1, flush=True)
        time.sleep(pause)
    print("ends with", state["sum"], flush=True)

def counting(steps=20, pause=0.0, nodes=1, **checkpoint):
    return dict(runtime="plain-distributed", checkpoint=Checkpoint(**checkpoint),
                trainer=CustomTrainer(count, func_args={{"steps": steps, "pause": pause}}, num_nodes=nodes))

{0}
"""


def program(stack: Stack, text: str) -> None:
    stack.program(SAVING.format(text))


def begins(stack: Stack, name: str) -> list[int]:
    """The step at which each attempt of a run began."""
    return [int(each) for each in re.findall(r"begins at (\d+)", stack.trainer("logs", name))]


def has_done(stack: Stack, name: str, step: int) -> bool:
    return f"has done {step}\n" in stack.trainer("logs", name)


def end_trainer(stack: Stack, number: signal.Signals) -> None:
    """Send a signal to the process that trains."""
    started = processes_of(Path(stack.env["TRAINER_INFRA_HOME"]), "main.py")
    (trainer,) = (each.pid for each in started if each.cmdline()[1].endswith("/main.py"))
    os.kill(trainer, number)


def run_to_its_end(stack: Stack, name: str) -> None:
    eventually(lambda: stack.runs()[0]["phase"] in {"Complete", "Failed"})
    assert stack.runs()[0]["phase"] == "Complete", stack.trainer("describe", name)
    assert f"ends with {sum(step * 0.1 for step in range(20))}" in stack.trainer("logs", name)


def test_its_place_is_an_output_and_a_new_run_may_begin_with_it(stack: Stack) -> None:
    program(
        stack,
        'job = TrainJob("job", **counting(every=5), wait_for="complete")\n'
        'pulumi.export("at", job.outputs["checkpoints"])',
    )
    stack.up()
    place = Path(stack.outputs()["at"])
    assert sorted(each.name for each in place.glob("step-*")) == [
        f"step-{n:010}" for n in (10, 15, 20)
    ]
    stack.unchanged()

    program(stack, f'TrainJob("job", **counting(steps=22, resume="{place}"), wait_for="complete")')
    stack.up()
    assert begins(stack, stack.job()["name"]) == [20]


def test_a_suspended_run_goes_on_where_it_was(stack: Stack) -> None:
    program(stack, 'TrainJob("job", **counting(pause=0.2, nodes=2))')
    stack.up()
    name = stack.job()["name"]
    eventually(lambda: has_done(stack, name, 3))
    stack.trainer("suspend", name)
    eventually(lambda: stack.runs()[0]["phase"] == "Suspended")
    stack.trainer("resume", name)
    run_to_its_end(stack, name)
    first, *others = sorted(begins(stack, name))
    assert first == 0
    assert max(others) >= 3


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_node_that_is_ended_from_outside_goes_on_where_it_was(
    stack: Stack, number: signal.Signals
) -> None:
    program(stack, 'TrainJob("job", **counting(pause=0.2, every=1))')
    stack.up()
    name = stack.job()["name"]
    eventually(lambda: has_done(stack, name, 3))
    end_trainer(stack, number)
    run_to_its_end(stack, name)
    assert begins(stack, name)[1] >= 3


def suspend_then_kill(stack: Stack, name: str) -> None:
    """A first attempt that is suspended and a second one that is killed, and return in the third."""
    eventually(lambda: has_done(stack, name, 3))
    stack.trainer("suspend", name)
    eventually(lambda: stack.runs()[0]["phase"] == "Suspended")
    stack.trainer("resume", name)
    eventually(lambda: len(begins(stack, name)) == 2)
    eventually(lambda: has_done(stack, name, begins(stack, name)[1] + 3))
    end_trainer(stack, signal.SIGKILL)
    eventually(lambda: len(begins(stack, name)) == 3)


def test_what_ended_its_attempts_is_known_when_they_are_over(stack: Stack) -> None:
    counting = "counting(steps=40, pause=0.2, every=2)"
    program(stack, f'TrainJob("job", **{counting})')
    stack.up()
    name = stack.job()["name"]
    assert stack.runs()[0]["attempts"]["total"] == 0
    assert "ttempts:" not in stack.trainer("describe", name) + stack.trainer("get", name)
    suspend_then_kill(stack, name)
    eventually(lambda: "goes on" in stack.trainer("describe", name))
    program(
        stack,
        f'job = TrainJob("job", **{counting}, wait_for="complete")\n'
        'pulumi.export("metrics", job.metrics)',
    )
    said = stack.up()
    suspended, killed, finished = stack.runs()[0]["attempts"]["last"]
    assert (suspended["cause"], finished["cause"]) == ("suspended", "finished")
    pod = f"pod {name}-node-0-0"
    assert killed["cause"].startswith(f"{pod}: container node ended with exit code 137")
    assert suspended["last"] == killed["first"] == begins(stack, name)[1]
    assert killed["last"] - finished["first"] == killed["lost"]
    assert finished["last"] == 40
    lost = f"3 attempts, {killed['lost']} steps? lost"
    assert re.search(rf"complete after \d+s and {lost}, \d+% of the time", said)
    shown = stack.trainer("describe", name)
    assert re.search(rf"\nAttempts: +{lost}, \d+% of the time went", shown)
    assert re.search(r"\n  3 .* \d+\.\.40 .*finished\n", shown), shown
    assert re.search(rf"\nattempts: {lost}\n", stack.trainer("get", name))
    assert re.search(lost, stack.trainer("get", name, "--columns", "attempts"))
    assert stack.outputs()["metrics"] == {}


@pytest.mark.parametrize("named", ["", ', name="digits"'])
def test_another_number_of_nodes_goes_on_from_the_checkpoint(stack: Stack, named: str) -> None:
    program(stack, f'TrainJob("job", **counting(pause=0.2, every=1, keep=4){named})')
    stack.up()
    before = stack.job()
    eventually(lambda: has_done(stack, before["name"], 3))

    program(stack, f'TrainJob("job", **counting(pause=0.2, every=1, keep=4, nodes=2){named})')
    place = before["outputs"]["checkpoints"]
    said = f"the run of this name is ended first, and the new one goes on from its newest checkpoint, in {place}"
    assert said in stack.preview()
    stack.up()
    after = stack.job()
    assert (after["name"], after["outputs"]) == (before["name"], before["outputs"])
    assert after["uid"] != before["uid"]
    run_to_its_end(stack, after["name"])
    new, *old = sorted(begins(stack, after["name"]))
    assert (new, old[0] >= 3) == (0, True), "each plain node has its own, and the second one is new"
    stack.unchanged()


def test_a_delete_waits_until_pods_have_saved_unless_the_program_says_how_long() -> None:
    def waits(save: object, **more: object) -> float:
        env = [{"name": "TRAINER_INFRA_CHECKPOINT", "value": json.dumps({"save_seconds": save})}]
        return TrainJobProperties({"spec": {"trainer": {"env": env}}, **more}).delete_timeout

    assert TrainJobProperties({"spec": {}}).delete_timeout == 60
    assert (waits(5), waits(600), waits("ten")) == (60, 630, 60)
    assert waits(600, deleteTimeout=7) == 7


def test_another_program_is_another_run_with_checkpoints_of_its_own(stack: Stack) -> None:
    program(stack, 'TrainJob("job", **counting(steps=5, every=2))')
    stack.up()
    before = stack.job()
    program(stack, 'TrainJob("job", **counting(steps=6, every=2))')
    assert "goes on from its newest checkpoint" not in stack.preview()
    stack.up()
    assert stack.job()["name"] != before["name"]


def test_each_member_of_a_batch_goes_on_with_another_number_of_nodes(stack: Stack) -> None:
    batch = 'TrainJobs("jobs", {{"a": counting(pause=0.2, every=1, nodes={})}})'
    program(stack, batch.format(1))
    stack.up()
    (before,) = stack.runs()
    eventually(lambda: has_done(stack, before["name"], 3))
    program(stack, batch.format(2))
    assert "goes on from its newest checkpoint" in stack.preview()
    stack.up()
    run_to_its_end(stack, before["name"])
    assert max(begins(stack, before["name"])) >= 3


def test_a_range_of_nodes_without_a_checkpoint_is_warned_of(stack: Stack) -> None:
    text = (
        'TrainJob("job", runtime="torch-distributed", trainer=CustomTrainer(train, num_nodes={}){})'
    )
    program(stack, text.format("(2, 4)", ""))
    said = "without checkpoint= that is from its first line"
    assert said in stack.preview()
    program(stack, text.format("(2, 4)", ", checkpoint=Checkpoint()"))
    assert said not in stack.preview()
    program(stack, text.format("(4, 2)", ""))
    assert "num_nodes: must be the least number of nodes, then a larger one" in stack.preview(
        ok=False
    )


def test_each_member_of_a_batch_has_its_own(stack: Stack) -> None:
    program(
        stack,
        'jobs = TrainJobs("jobs", {"a": counting(every=5), "b": counting(steps=7, every=5)},'
        ' wait_for="complete")\n'
        'pulumi.export("at", jobs.results.apply(lambda each: {k: v["outputs"] for k, v in each.items()}))',
    )
    stack.up()
    found = {
        member: sorted(int(each.name[5:]) for each in Path(outputs["checkpoints"]).glob("step-*"))
        for member, outputs in stack.outputs()["at"].items()
    }
    assert found == {"a": [10, 15, 20], "b": [5]}


REFUSED = {
    'checkpoint="s3://bucket/x"': "checkpoint: must be a Checkpoint",
    'checkpoint=Checkpoint(every="ten")': "checkpoint.every: must be steps or a time",
    "checkpoint=Checkpoint(keep=0)": "checkpoint.keep: must be a whole number from 1 on, got 0",
    'checkpoint=Checkpoint(resume="step")': "checkpoint.resume: names nothing to resume from",
    'checkpoint=Checkpoint(uri="pvc://")': "outputs['checkpoints']: is not an address",
    'checkpoint=Checkpoint(uri="output://other")': "outputs: has no 'other', where the trainer writes",
    'checkpoint=Checkpoint(uri="pvc://c/x"), outputs={"checkpoints": "pvc://d"}': (
        "outputs['checkpoints']: is an output that checkpoint= adds"
    ),
}


@pytest.mark.parametrize(("arguments", "said"), REFUSED.items())
def test_what_cannot_work_is_refused_at_preview(stack: Stack, arguments: str, said: str) -> None:
    program(
        stack,
        f'TrainJob("job", runtime="plain-distributed", trainer=CustomTrainer(train), {arguments})',
    )
    assert said in stack.preview(ok=False)
