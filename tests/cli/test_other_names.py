"""Commands and values that the command line does not know: it says what is meant, in words of ours."""

import pytest

from tests.cli.command import Command
from trainer_infra.cli import command_group
from trainer_infra.cli.main import app


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["ls"], "No such command 'ls'. Did you mean 'get'?"),
        (["status"], "Did you mean 'describe'?"),
        (["log", "x"], "Did you mean 'logs'?"),
        (["kill", "x"], "Did you mean 'delete'?"),
        (["up"], "No such command 'up'. Run `pulumi up` in the folder of the program."),
        (["apply"], "Run `pulumi up` in the folder"),
        (["destroy"], "Run `pulumi destroy` in the folder"),
        (["descrbe"], "Did you mean 'describe'"),
        (["run", "t.py", "--nodes", "two"], "'--nodes': must be a whole number"),
        (["get", "-o", "xml"], "'-o': 'xml' is not one of 'table', 'csv', 'yaml', 'json'."),
        (["get", "--target", "k8s"], "'--target': 'k8s' is not one of 'local', 'kubernetes'."),
        (["get", "--phase", "done"], "'--phase': 'done' is not one of 'created', "),
        (["check", ".", "--fail-on", "worst"], "'--fail-on': 'worst' is not one of "),
    ],
)
def test_a_mistake_is_answered_in_our_words(cli: Command, arguments: list[str], said: str) -> None:
    done = cli(*arguments)
    assert (done.code, done.out) == (2, "")
    assert said in done.err


def test_what_is_offered_exists() -> None:
    known = {
        each.name or getattr(each.callback, "__name__", "") for each in app.registered_commands
    }
    assert {*command_group.OTHER_NAMES.values()} <= known
    assert not {*command_group.OTHER_NAMES, *command_group.OF_PULUMI} & known


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["render", "-f", "__main__.py"], 1, "__main__.py: is a program, and no manifest; `pulumi"),
        (["migrate", "job.py"], 1, "job.py: is a program, and no manifest; `pulumi preview`"),
        (["check", "job.py"], 3, "job.py: is a program, and no manifest; `pulumi preview`"),
        (["run", "Pulumi.yaml"], 2, "Pulumi.yaml belongs to a Pulumi project: run `pulumi up`"),
        (["run", "Pulumi.dev.yaml"], 2, "belongs to a Pulumi project: run `pulumi up`"),
        (["run", "__main__.py"], 2, "is the program of a Pulumi project: run `pulumi up`"),
    ],
)
def test_a_file_of_a_pulumi_project_is_told_apart(
    cli: Command, arguments: list[str], code: int, said: str
) -> None:
    cli.write("Pulumi.yaml", "name: x\nruntime: python\n")
    for name in ("__main__.py", "job.py"):
        cli.write(name, "import pulumi\n")
    done = cli(*arguments)
    assert said in done.err + done.out
    assert done.code == code
