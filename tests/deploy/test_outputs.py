"""What a run leaves behind is kept when the run is gone, and is found by name."""

from pathlib import Path

import pytest

from tests.deploy.project import Stack
from tests.deploy.test_batch import HEAD, batch

SAVING = """
def save(text="one", name="model"):
    from trainer_infra.storage import output
    open(output(name) + "/weights.txt", "w").write(text)

job = TrainJob("job", runtime="jax-distributed", trainer=CustomTrainer(save, func_args={args}),
               outputs={outputs}, wait_for="complete")
pulumi.export("outputs", job.outputs)
pulumi.export("result", job.result.outputs)
"""


def saving(text: str = "one", outputs: str = '["model"]', name: str = "model") -> str:
    return SAVING.format(args={"text": text, "name": name}, outputs=outputs)


def weights(stack: Stack) -> Path:
    return Path(stack.outputs()["outputs"]["model"], "weights.txt")


def test_a_model_is_kept_when_its_run_is_replaced_and_when_all_is_destroyed(stack: Stack) -> None:
    stack.program(saving())
    shown = stack.preview()
    assert "outputs" in shown
    stack.up()
    first = weights(stack)
    assert first.read_text() == "one"
    assert stack.outputs()["result"] == stack.outputs()["outputs"]
    stack.unchanged()
    (run,) = stack.runs()
    assert run["outputs"] == stack.outputs()["outputs"]
    assert f"model={first.parent}" in stack.trainer("get", run["name"])
    assert f"model={first.parent}" in stack.trainer("describe", run["name"])

    stack.program(saving("two"))
    stack.up()

    second = weights(stack)
    assert (first.read_text(), second.read_text()) == ("one", "two")
    shown = stack.run("destroy", "--yes", "--skip-preview")
    assert f"kept: model={second.parent}" in shown
    assert (first.read_text(), second.read_text()) == ("one", "two")


def test_an_output_has_the_place_that_it_is_given(stack: Stack) -> None:
    stack.program(saving(outputs='{"model": "pvc://models/digits/{run}"}'))
    stack.up()
    found = weights(stack)
    assert found.read_text() == "one"
    (run,) = stack.runs()
    assert found.parts[-5:-1] == ("default", "models", "digits", run["name"])
    stack.unchanged()

    stack.program(saving(outputs='{"model": "pvc://models/other"}'))
    assert "digits" in stack.preview(), "another place is another run"


def test_the_stack_says_where_outputs_are_kept(stack: Stack, tmp_path: Path) -> None:
    stack.run("config", "set", "trainer:outputs", f"{tmp_path}/mine")
    stack.program(saving())
    stack.up()
    assert weights(stack).is_relative_to(tmp_path / "mine")
    stack.run("config", "set", "trainer:outputs", f"{tmp_path}/other")
    stack.unchanged()


def test_a_uri_is_given_to_the_program_as_it_is(stack: Stack) -> None:
    stack.program(
        """
        def show():
            from trainer_infra.storage import output
            print("writes to", output("best-model"), flush=True)
        job = TrainJob("job", runtime="jax-distributed", trainer=CustomTrainer(show),
                       outputs={"best-model": "s3://models/{namespace}/{run}"}, wait_for="complete")
        """
    )
    stack.up()
    (run,) = stack.runs()
    assert f"writes to s3://models/default/{run['name']}" in stack.trainer("logs", run["name"])


def test_an_output_that_the_run_does_not_have_is_said(stack: Stack) -> None:
    stack.program(saving(name="modle"))
    said = "this run has no output 'modle', it has model; name it in outputs= of the TrainJob"
    assert said in stack.up(ok=False)


@pytest.mark.soak
def test_a_mounted_path_is_at_hand(cli_stack: Stack) -> None:
    cli_stack.program(
        """
        def read():
            import os
            from trainer_infra.storage import mounted
            path = mounted("/data/x.txt")
            open(path, "w").write("here")
            print("it is", open(mounted("/data/x.txt")).read(), os.path.isabs(path), mounted("/else/y"))

        pod = {"volumes": [{"name": "data", "emptyDir": {}}],
               "containers": [{"name": "node", "volumeMounts": [{"name": "data", "mountPath": "/data"}]}]}
        job = {"name": "node", "template": {"spec": {"template": {"spec": pod}}}}
        patch = {"manager": "acme.io/me", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [job]}}}}
        TrainJob("job", runtime="jax-distributed", trainer=CustomTrainer(read), runtime_patches=[patch],
                 wait_for="complete")
        """
    )
    cli_stack.up()
    (run,) = cli_stack.runs()
    assert "it is here True /else/y" in cli_stack.trainer("logs", run["name"])


def test_members_keep_their_outputs_each(stack: Stack) -> None:
    member = """{{"runtime": "jax-distributed", "outputs": ["model"],
                 "trainer": CustomTrainer(save, func_args={{"text": {text!r}}})}}"""
    head = HEAD + SAVING.partition("job = ")[0].replace("{", "{{").replace("}", "}}").format()
    jobs = ", ".join(f"{each!r}: {member.format(text=each)}" for each in ("a", "b"))
    stack.program(
        head + f'sweep = TrainJobs("sweep", {{{jobs}}}, wait_for="complete")\n'
        'pulumi.export("models", sweep.results.apply('
        'lambda ended: {name: each["outputs"]["model"] for name, each in ended.items()}))\n'
    )
    stack.up()
    for name, place in stack.outputs()["models"].items():
        assert Path(place, "weights.txt").read_text() == name
        assert batch(stack)["members"][name]["name"] in place
    stack.unchanged()


def test_a_folder_with_a_blank_in_its_name_is_where_the_program_writes_and_the_next_job_reads(
    stack: Stack, tmp_path: Path
) -> None:
    place = tmp_path / "my models"
    stack.program(saving(outputs=repr({"model": str(place)})))
    stack.up()
    assert weights(stack).read_text() == (place / "weights.txt").read_text() == "one"
    stack.unchanged()


@pytest.mark.parametrize(
    ("outputs", "said"),
    [
        ('"model"', "outputs: must be a list of names, or a mapping of names"),
        ('["My Model"]', "is not a valid output name, got 'My Model'; use lower-case letters"),
        (
            '{"m": "models"}',
            "is not an absolute path, got 'models'; write its whole path, str(Path(\"models\").resolve()), or pvc:",
        ),
        ('{"m": "pvc://Models/x"}', "names no volume claim, got 'pvc://Models/x'"),
        ('{"m": "s3://key:secret@models"}', "has credentials in it"),
        ('{"m": "/tmp/../etc"}', "may not have .. in it"),
        ('{"m": Secret("s3://models")}', "outputs"),
    ],
)
def test_what_cannot_be_kept_is_said_at_preview(stack: Stack, outputs: str, said: str) -> None:
    stack.program(saving(outputs=outputs))
    shown = stack.preview(ok=False)
    assert said in shown
    assert "key:secret" not in shown


def test_a_trainer_that_writes_to_an_output_needs_it(stack: Stack) -> None:
    stack.program(
        """
        from trainer_infra import Trl
        TrainJob("job", runtime="torch-distributed", trainer=Trl("sft", model="org/model"))
        """
    )
    said = stack.preview(ok=False)
    assert (
        "outputs: has no 'model', where the trainer writes; "
        'add it, outputs=["model"], or give the trainer another output'
    ) in said
