"""A commit of a repository as a job's code, by `pulumi up` on this machine."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.deploy.project import Stack
from tests.trainers.git_server import Repository, new_repository

MAIN = "from trainer_infra.report import report\nreport(progress=100, value={})\n"
PROGRAM = """
job = TrainJob("job", runtime="plain-distributed", wait_for="complete",
               trainer=CustomTrainer({train}))
pulumi.export("value", job.metrics["value"])
"""


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    made = new_repository(tmp_path / "repository")
    made.commit({"app/main.py": MAIN.format(1)})
    return made


def test_a_branch_trains_again_when_its_files_change_and_says_its_commit(
    stack: Stack, repository: Repository, tmp_path: Path
) -> None:
    stack = replace(stack, env={**stack.env, "TRAINER_INFRA_CACHE": str(tmp_path / "cache")})
    first = repository.git("rev-parse", "HEAD")
    stack.program(PROGRAM.format(train=f'"{repository.url}@main#app:main.py"'))
    assert f"@{first}#app:main.py" in stack.preview()
    stack.up()
    assert stack.outputs()["value"] == 1
    run = stack.job()["name"]
    assert f"Code:         {repository.url}@{first}#app:main.py" in stack.trainer("describe", run)
    stack.unchanged()

    repository.commit({"README.md": "", "app/main.py": f"# says why\n{MAIN.format(1)}"})
    stack.unchanged()
    assert stack.job()["name"] == run

    repository.commit({"app/main.py": MAIN.format(2)})
    stack.up()
    assert stack.outputs()["value"] == 2
    assert stack.job()["name"] != run
    stack.run("destroy", "--yes")
    assert stack.runs() == []


@pytest.mark.soak
def test_an_output_may_say_where_the_code_is(stack: Stack, repository: Repository) -> None:
    train = (
        f'pulumi.Output.from_input("{repository.url}").apply(lambda url: f"{{url}}#app:main.py")'
    )
    stack.program(PROGRAM.format(train=train))
    stack.up()
    stack.unchanged()


def test_what_git_cannot_have_is_one_error_of_the_preview(stack: Stack, tmp_path: Path) -> None:
    stack.program(PROGRAM.format(train=f'"git+{(tmp_path / "none").as_uri()}#app:main.py"'))
    shown = stack.preview(ok=False)
    assert shown.count("git cannot fetch it: ") == 1
    assert "TrainJob job: git+file://" in shown
    assert "Traceback" not in shown
