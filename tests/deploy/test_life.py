"""One TrainJob through its whole life, by the real Pulumi CLI."""

import re
from pathlib import Path
from platform import node

import pytest

from tests.deploy.project import Stack, processes_of

ONE = """
job = TrainJob("job", runtime="jax-distributed",
               trainer=CustomTrainer(train, func_args={args}, num_nodes=2), wait_for="complete")
pulumi.export("accuracy", job.metrics["accuracy"])
"""


def test_up_previews_nothing_more_and_refreshes_to_the_same(stack: Stack) -> None:
    stack.program(ONE.format(args={}))
    shown = stack.preview()
    assert "JAX_COORDINATOR_ADDRESS" in shown
    assert "parallelism" in shown

    stack.up()

    assert stack.outputs() == {"accuracy": 0.97}
    job = stack.job()
    assert re.fullmatch(r"job-[0-9a-f]{8}", job["name"])
    assert f"{job['name']}-node-0-0" in shown
    stack.unchanged()
    stack.run("refresh", "--yes")
    stack.unchanged()


def test_a_change_of_arguments_shows_a_replace_with_the_changed_lines(stack: Stack) -> None:
    stack.program(ONE.format(args={"text": "first"}))
    stack.up()
    before = stack.job()
    stack.program(ONE.format(args={"text": "second"}))

    shown = stack.preview()

    assert "replace" in shown
    assert shown.count('~ text: "first" => "second"') == 2, "in code and in the rendered ConfigMap"
    stack.up()
    after = stack.job()
    assert (before["name"], before["uid"]) != (after["name"], after["uid"])
    assert [run["name"] for run in stack.runs()] == [after["name"]]


def test_a_run_that_is_retained_is_compared_with_the_one_that_took_its_place(stack: Stack) -> None:
    kept = 'wait_for="complete", opts=pulumi.ResourceOptions(retain_on_delete=True)'
    text = ONE.replace('wait_for="complete"', kept)
    stack.program(text.format(args={"text": "first"}))
    stack.up()
    old = stack.job()["name"]
    stack.program(text.format(args={"text": "second"}))
    stack.up()
    new = stack.job()["name"]

    rows = [line.split() for line in stack.trainer("get", old, new).splitlines()]

    assert rows[0] == ["NAME", old, new]
    assert ["text", "first", "second"] in rows
    assert ["accuracy", "0.97", "0.97"] in rows
    assert "first" in stack.trainer("logs", old)


def test_a_comment_in_the_function_or_a_line_above_it_retrains_nothing(stack: Stack) -> None:
    stack.program('TrainJob("job", runtime="jax-distributed", trainer=CustomTrainer(train))')
    stack.up()
    uid = stack.job()["uid"]
    program = stack.folder / "__main__.py"
    text = program.read_text().replace(
        "    time.sleep(seconds)", "\n    time.sleep( seconds )  # rest"
    )
    program.write_text(f"# The function below moves down by this line.\n{text}")
    stack.unchanged()
    program.write_text(text.replace("accuracy=0.97", "accuracy=0.98"))
    assert "+-pulumi-python:trainer:TrainJob: (replace)" in stack.preview()
    stack.up()
    assert stack.job()["uid"] != uid


EDITED = """
from trainer_infra import TrainingRuntime, catalog
runtime = catalog.get("jax-distributed").to_wire()
runtime["metadata"] = {{"name": "mine"}}
pods = runtime["spec"]["template"]["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
pods["spec"]["containers"][0]["image"] = "{image}"
job = TrainJob("job", runtime={runtime}, trainer=CustomTrainer(train), {more})
"""


@pytest.mark.parametrize("more", ["", pytest.param('name="mine"', marks=pytest.mark.soak)])
def test_a_runtime_that_is_edited_in_the_program_is_another_run(stack: Stack, more: str) -> None:
    stack.program(EDITED.format(image="one", runtime="runtime", more=more))
    stack.up()
    uid = stack.job()["uid"]
    stack.unchanged()
    stack.program(EDITED.format(image="two", runtime="runtime", more=more))

    shown = stack.preview()

    assert '"one" => "two"' in shown
    keep = 'ignore_changes=["runtime"]'
    assert f"its runtime mine has changed, so it runs again; to keep the run, add {keep}" in shown
    kept = f"{more + ', ' if more else ''}opts=pulumi.ResourceOptions({keep})"
    stack.program(EDITED.format(image="two", runtime="runtime", more=kept))
    stack.unchanged()
    stack.program(EDITED.format(image="two", runtime="runtime", more=more))
    stack.up()
    assert stack.job()["uid"] != uid
    stack.unchanged()


def test_a_runtime_resource_that_changes_retrains_nothing(stack: Stack) -> None:
    mine = 'TrainingRuntime("mine", runtime)'
    stack.program(EDITED.format(image="one", runtime=mine, more=""))
    stack.up()
    uid = stack.job()["uid"]
    stack.program(EDITED.format(image="two", runtime=mine, more=""))
    assert "keeps the runtime it was born with, mine has changed since" in stack.up()
    assert stack.job()["uid"] == uid
    stack.unchanged()


def test_suspending_and_resuming_is_an_update_in_place(stack: Stack, tmp_path: Path) -> None:
    text = """
    job = TrainJob("job", runtime="jax-distributed",
                   trainer=CustomTrainer(train, func_args={{"seconds": 60.0}}), suspend={suspend})
    """
    stack.program(text.format(suspend=False))
    stack.up()
    uid = stack.job()["uid"]

    stack.program(text.format(suspend=True))
    shown = stack.up()
    assert "replace" not in shown
    (run,) = stack.runs()
    assert (run["uid"], run["phase"]) == (uid, "Suspended")

    stack.program(text.format(suspend=False))
    stack.up()
    assert stack.job()["uid"] == uid
    stack.run("destroy", "--yes")
    assert stack.runs() == []
    assert processes_of(tmp_path) == []


def test_attempt_runs_the_same_content_again(stack: Stack) -> None:
    text = """
    job = TrainJob("job", runtime="jax-distributed", trainer=CustomTrainer(train),
                   attempt={attempt}, wait_for="complete")
    """
    stack.program(text.format(attempt=1))
    stack.up()
    first = stack.job()["uid"]
    stack.program(text.format(attempt=2))
    stack.up()
    assert stack.job()["uid"] != first


def test_a_forced_replacement_keeps_the_run_and_says_how_to_run_it_again(stack: Stack) -> None:
    stack.program(ONE.format(args={}))
    stack.up()
    before = stack.job()
    (resource,) = stack.resources("trainer:TrainJob")

    shown = stack.up("--replace", resource["urn"])

    assert "the same content is the same run; raise attempt to run it again" in shown
    assert stack.job()["uid"] == before["uid"]
    assert [run["uid"] for run in stack.runs()] == [before["uid"]]


def test_a_run_that_somebody_deleted_is_gone_at_refresh_and_made_again(stack: Stack) -> None:
    stack.program(ONE.format(args={}))
    stack.up()
    before = stack.job()
    stack.trainer("delete", before["name"])

    stack.run("refresh", "--yes")
    assert stack.resources("trainer:TrainJob") == []
    stack.up()

    after = stack.job()
    assert (after["name"], after["uid"] != before["uid"]) == (before["name"], True)


def test_a_named_job_is_deleted_before_its_replacement_is_created(stack: Stack) -> None:
    text = """
    job = TrainJob("job", name="digits", runtime="jax-distributed",
                   trainer=CustomTrainer(train, func_args={{"text": "{text}"}}), wait_for="complete")
    """
    stack.program(text.format(text="first"))
    stack.up()
    stack.program(text.format(text="second"))
    stack.up()
    assert [run["name"] for run in stack.runs()] == ["digits"]
    assert "second" in stack.trainer("logs", "digits")


def test_a_job_of_another_machine_stays_as_it_was_and_says_where(stack: Stack) -> None:
    stack.program(ONE.format(args={}))
    stack.up()
    state = stack.export()
    (stack.folder / "moved.json").write_text(
        state.replace(f'"host": "{node()}"', '"host": "elsewhere"')
    )
    stack.run("stack", "import", "--file", "moved.json")

    stack.run("refresh", "--yes")

    assert stack.job()["lastSeen"] == "unknown (on elsewhere)"
    assert stack.outputs() == {"accuracy": 0.97}
    refused = stack.run("destroy", "--yes", ok=False)
    assert f"runs on elsewhere, not on {node()}" in refused
    assert "Traceback" not in refused


def test_two_jobs_run_side_by_side_and_one_feeds_the_next(stack: Stack) -> None:
    stack.program("""
    jobs = [TrainJob(f"job{i}", runtime="jax-distributed", wait_for="complete",
                     trainer=CustomTrainer(train, func_args={"text": str(i)}, num_nodes=2))
            for i in range(2)]
    TrainJob("last", runtime="jax-distributed", wait_for="complete",
             trainer=CustomTrainer(train, func_args={"text": jobs[0].metrics["accuracy"]}))
    """)
    shown = stack.preview()
    assert "last" in shown
    stack.up()
    assert "rank 0 of 1 0.97" in stack.trainer("logs", stack.job("last")["name"])
    stack.unchanged()


@pytest.mark.parametrize("folder", ["root", pytest.param("stack", marks=pytest.mark.soak)])
def test_up_works_from_the_root_and_from_the_stacks_folder(
    folder: str, tmp_path: Path, pulumi_env: dict[str, str]
) -> None:
    root = tmp_path / "repository"
    program = root / "stacks" / "one"
    program.mkdir(parents=True)
    (root / "Pulumi.yaml").write_text("name: root\nruntime: python\nmain: stacks/one\n")
    (program / "Pulumi.yaml").write_text("name: one\nruntime: python\n")
    stack = Stack(program, pulumi_env)
    stack.program(ONE.format(args={}))
    stack.folder = root if folder == "root" else program
    stack.run("stack", "init")
    stack.run("config", "set", "trainer:target", "local")
    stack.up()
    assert stack.outputs() == {"accuracy": 0.97}
    stack.run("destroy", "--yes")
