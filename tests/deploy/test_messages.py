"""A mistake in a program is one sentence that names the resource, the place and what to do."""

import re
from pathlib import Path

import pytest

from tests.deploy.project import Stack
from tests.soak_sample import sampled

RUNTIME = 'runtime="plain-distributed"'
COMMAND = 'trainer={"command": ["true"]}'
KIND = "pulumi-python:trainer:"
ADOPT = (
    "resources of trainer_infra are not imported but adopted: declare it in the program with the "
    "name= that it has and adopt=True, without import, and run `pulumi up`"
)

FROM_THE_PROGRAM = {
    "a_function_as_trainer": (
        f'TrainJob("job", {RUNTIME}, trainer=train)',
        (
            "TrainJob job: trainer: must be a trainer, such as CustomTrainer, or spec.trainer in wire form, got "
            "<function train at 0x…>; write trainer=CustomTrainer(train)"
        ),
    ),
    "a_path_as_trainer": (
        f'TrainJob("job", {RUNTIME}, trainer="train.py")',
        (
            "TrainJob job: trainer: must be a trainer, such as CustomTrainer, or spec.trainer in wire form, got "
            "'train.py'; write trainer=CustomTrainer('train.py')"
        ),
    ),
    "no_runtime": (
        f'TrainJob("job", runtime=None, {COMMAND})',
        (
            "TrainJob job: runtime: is required: it says on what to train; "
            'name one of the catalog, for example "torch-distributed"'
        ),
    ),
    "an_output_of_no_runtime": (
        f'TrainJob("job", runtime=pulumi.Output.from_input(None), {COMMAND})',
        (
            "TrainJob job: runtime: is required: it says on what to train; "
            'name one of the catalog, for example "torch-distributed"'
        ),
    ),
    "a_number_as_runtime": (
        'TrainJobs("sweep", {"a": {"runtime": 3}})',
        (
            "TrainJobs sweep: a: runtime: must be a runtime or its name, got 3; "
            "give the name of one of the catalog, a runtime resource, or a runtime in wire form"
        ),
    ),
    "a_list_of_jobs": (
        'TrainJobs("sweep", [{"runtime": "plain-distributed"}])',
        (
            "TrainJobs sweep: jobs must be a mapping of each member's name to its arguments, as in "
            "{\"lr-1\": {\"runtime\": ...}}, got [{'runtime': 'plain-distributed'}]"
        ),
    ),
    "a_member_that_is_no_mapping": (
        'TrainJobs("sweep", {"a": "plain-distributed"})',
        (
            "TrainJobs sweep: a: must be a mapping of the arguments of a TrainJob, as in "
            "{\"runtime\": ...}, got 'plain-distributed'"
        ),
    ),
    "an_unknown_argument_of_a_member": (
        'TrainJobs("sweep", {"a": {"runtime": "plain-distributed", "trainr": {}}})',
        "TrainJobs sweep: a: 'trainr' is not an argument; did you mean trainer?",
    ),
    "a_package_without_version": (
        f'TrainJob("job", {RUNTIME}, trainer=CustomTrainer(train, packages=["torch"]))',
        (
            "TrainJob job: packages[0]: has no exact version, so the same job could train with other "
            "code, got 'torch'; write name==version, for example \"jax[cpu]==0.9.0\", or give a lock file that `trainer-infra lock` makes"
        ),
    ),
    "a_unit_of_memory_that_kubernetes_does_not_know": (
        f'TrainJob("job", {RUNTIME}, trainer=CustomTrainer(train, resources_per_node={{"memory": "4GB"}}))',
        (
            "TrainJob job: resources_per_node.memory: must be a quantity such as 1, 500m or 16Gi, "
            "got '4GB'; did you mean 4G?"
        ),
    ),
    "what_is_imported": (
        f'TrainJob("job", {RUNTIME}, {COMMAND}, opts=pulumi.ResourceOptions(import_="default/job"))',
        f"TrainJob job: {ADOPT}",
    ),
}

FROM_THE_PROVIDER = {
    "a_name_with_capitals": (
        f'TrainJob("job", name="MyJob", {RUNTIME}, {COMMAND})',
        (
            f"{KIND}TrainJob resource 'job' has a problem: metadata.name: must be lower-case letters, "
            "digits and -, with a letter first and no - at its end, got 'MyJob'; for example 'myjob'"
        ),
    ),
    "a_name_that_is_too_long": (
        f'TrainJob("job", name="{"a" * 70}", {RUNTIME}, {COMMAND})',
        (
            f"{KIND}TrainJob resource 'job' has a problem: metadata.name: must be no more than 63 characters, "
            f"got '{'a' * 70}'; choose a shorter one, this has 70"
        ),
    ),
    "an_unknown_field": (
        f'TrainJob("job", {RUNTIME}, trainer={{"imag": "x", "command": ["true"]}})',
        (
            f"{KIND}TrainJob resource 'job' has a problem: spec.trainer.imag: unknown field; "
            "did you mean image?"
        ),
    ),
    "an_unknown_field_of_a_member": (
        'TrainJobs("sweep", {"a": {"runtime": "plain-distributed", "trainer": {"imag": "x"}}})',
        (
            f"{KIND}TrainJobs resource 'sweep' has a problem: jobs.a: spec.trainer.imag: unknown field; "
            "did you mean image?"
        ),
    ),
    "an_unknown_event": (
        f'TrainJob("job", {RUNTIME}, {COMMAND}, wait_for="done")',
        (
            f"{KIND}Result resource 'job' has a problem: wait_for: must be 'running' or "
            "'complete', got 'done'"
        ),
    ),
    "a_runtimes_unknown_field": (
        'TrainingRuntime("mine", {"templat": {}})',
        (
            f"{KIND}Runtime resource 'mine' has a problem: spec.templat: unknown field; "
            "did you mean template?"
        ),
    ),
}


def said(stack: Stack, program: str) -> list[str]:
    """The errors of a preview, without what differs from run to run and what is Pulumi's own."""
    stack.program(f"from trainer_infra import TrainingRuntime, TrainJobs\n{program}")
    shown = stack.preview(ok=False)
    assert "Traceback" not in shown, shown
    assert stack.runs() == []
    shown = re.sub("at 0x[0-9a-f]+", "at 0x…", shown)
    shown = re.sub("-[0-9a-f]{8}'", "-xxxxxxxx'", shown)
    found = re.findall(r"error: (.*)", shown)
    # What Pulumi adds to every program that ends with an error (its own executor's exit code is 1).
    return [each for each in found if "an unhandled error occurred" not in each]


@pytest.mark.parametrize("case", sampled([*FROM_THE_PROGRAM, *FROM_THE_PROVIDER], every=3))
def test_a_mistake_is_said_once_with_the_resource_and_what_to_do(case: str, stack: Stack) -> None:
    program, expected = (FROM_THE_PROGRAM | FROM_THE_PROVIDER)[case]
    errors = said(stack, program)
    assert [each[: len(expected)] for each in errors if each.startswith(expected)] == [expected]
    assert "".join(errors).count(expected.rpartition(": ")[2]) == 1


def test_pulumi_import_says_how_to_adopt(cli_stack: Stack) -> None:
    shown = cli_stack.run("import", f"{KIND}TrainJob", "job", "default/job", "--yes", ok=False)
    assert ADOPT in shown
    assert "__provider" not in shown


@pytest.mark.parametrize("home", ["/sys/trainer-infra", "FILE", "FILE/below"])
def test_a_home_that_cannot_be_written_is_named_with_what_to_set(
    home: str, stack: Stack, tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    home = home.replace("FILE", str(tmp_path / "file"))
    stack.env = {**stack.env, "TRAINER_INFRA_HOME": home}
    stack.program(f'TrainJob("job", {RUNTIME}, {COMMAND})')
    (stack.folder / "train.py").write_text("print(1)")
    fix = "set TRAINER_INFRA_HOME to a folder that you may write, and run again"
    for shown in (
        stack.up(ok=False),
        stack.trainer("run", "train.py", "--runtime", "plain-distributed", ok=False),
    ):
        assert f"the folder of the runs cannot be written: {home}" in shown
        assert fix in shown
        assert "Traceback" not in shown, shown


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (
            "import pandas_of_nobody.frames",
            (
                "the Python of the job has no module 'pandas_of_nobody': add it with its version to "
                'packages= of the trainer (--package of `trainer-infra run`), as in "pandas_of_nobody==<version>"'
            ),
        ),
        (
            'open("data.csv")',
            "'data.csv' is a relative path, and a run has a working directory of its own",
        ),
        (
            "import os; os.kill(os.getpid(), 9)",
            "ended with exit code 137: killed (SIGKILL), commonly for memory",
        ),
        (
            "import os; os.kill(os.getpid(), 11)",
            "ended with exit code 139: a segmentation fault (SIGSEGV)",
        ),
    ],
)
def test_a_failed_training_says_what_to_do(body: str, expected: str, stack: Stack) -> None:
    stack.program(f"""
def broken():
    {body}

TrainJob("job", {RUNTIME}, trainer=CustomTrainer(broken), wait_for="complete")
""")
    (stack.folder / "data.csv").touch()
    assert expected in stack.up(ok=False)


def test_a_program_that_is_missing_and_a_deadline_say_what_to_do(stack: Stack) -> None:
    stack.program(f"""
TrainJob("none", {RUNTIME}, trainer={{"command": ["no-such-program"]}}, wait_for="complete")
TrainJob("late", {RUNTIME}, trainer={{"command": ["sleep", "60"]}}, active_deadline_seconds=1,
         wait_for="complete")
""")
    shown = stack.up("--continue-on-error", ok=False)
    assert "there is no program 'no-such-program' where the job runs: correct the command" in shown
    assert "TrainJob exceeded its active deadline of 1 s" in shown
