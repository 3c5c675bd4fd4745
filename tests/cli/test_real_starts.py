"""Each command started as users start it: by the installed program, in a Python that knows nothing yet.

Elsewhere commands start warm, in a process that has imported what all of them need. That would hide a
module that only another command imports, and what is done while modules are imported.
"""

from collections.abc import Callable, Iterator

import pytest
import typer.core
import typer.main

from tests.cli import fleet
from tests.cli.command import Command
from tests.local.jobs import Job, finished, shell
from tests.local.package_index import Package
from trainer_infra.cli import main

AMBER = Package("amber")
FILES = {
    "job.yaml": """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: lammps}
spec:
  runtimeRef: {name: flux-distributed}
  trainer: {command: [lmp]}
""",
    "v1.yaml": """\
apiVersion: kubeflow.org/v1
kind: JAXJob
metadata: {name: digits}
spec:
  jaxReplicaSpecs:
    Worker:
      replicas: 2
      template: {spec: {containers: [{name: jax, image: jax:1, command: [python, train.py]}]}}
""",
    "hello.py": "print('hello')\n",
    "Pulumi.yaml": "name: there\nruntime: python\n",
    "requirements.in": "--no-index\n--find-links .\namber\n",
}


def loud(command: Command, name: str) -> None:
    """A run that wrote something."""
    with fleet.folders_of(command):
        finished(Job(shell("echo a word"), name=name, owner=fleet.OF_COMMAND).submit())


RUNS: dict[str, Callable[[Command, str], object]] = {
    "good": fleet.ended,
    "bad": fleet.failed,
    "going": fleet.running,
    "held": fleet.running,
    "loud": loud,
}
STARTS = {
    "init": ("init .", 1, "Pulumi.yaml"),
    "render": ("render -f job.yaml", 0, "flux start"),
    "controller": ("controller --kubeconfig nowhere", 1, "nowhere"),
    "catalog": ("catalog", 0, "\njax-distributed "),
    "migrate": ("migrate v1.yaml", 0, "kind: TrainJob"),
    "run": ("run hello.py", 0, "node-0-0: hello\n"),
    "get": ("get good", 0, "condition: Complete=True"),
    "describe": ("describe bad", 0, "exit code 3"),
    "logs": ("logs loud", 0, "node-0-0: a word\n"),
    "suspend": ("suspend going", 0, "going suspended\n"),
    "resume": ("resume held", 0, "held resumed\n"),
    "retry": ("retry bad", 0, "bad"),
    "delete": ("delete good", 0, "good deleted\n"),
    "gc": ("gc --cache --yes", 0, "there is no environment in "),
    "crds": ("crds TrainJob", 0, "kind: CustomResourceDefinition"),
    "lock": ("lock", 0, "requirements.lock: 1 package"),
    "check": ("check job.yaml", 0, "job.yaml"),
    "rules list": ("rules list", 0, "\nimage-digest "),
    "rules explain": ("rules explain schema", 0, "runtimeRef"),
    "rules test": ("rules test cost", 0, "all is as it should be"),
}
"""For each command its arguments, exit code, and something that only it says."""


def leaves(command: object, *before: str) -> Iterator[str]:
    """The words that name each command."""
    if not isinstance(command, typer.core.TyperGroup):
        yield " ".join(before)
        return
    for name, each in command.commands.items():
        yield from leaves(each, *before, name)


def test_every_command_is_among_them() -> None:
    assert sorted(leaves(typer.main.get_command(main.app))) == sorted(STARTS)


@pytest.mark.parametrize("name", STARTS)
def test_a_command_works_as_it_is_started(cli: Command, name: str) -> None:
    arguments, code, said = STARTS[name]
    words = arguments.split()
    for file, text in FILES.items():
        cli.write(file, text)
    (cli.folder / AMBER.file).write_bytes(AMBER.wheel())
    for run in RUNS.keys() & words:
        RUNS[run](cli, run)
    if "held" in words:
        assert cli("suspend", "held").code == 0

    process = cli.start(*words)
    out, err = process.communicate(timeout=600)
    assert process.returncode == code, out + err
    assert said in out + err


def test_a_detached_run_keeps_nothing_of_the_terminal_that_it_was_begun_in(cli: Command) -> None:
    """Who reads what the command says waits until nobody can write there any more."""
    cli.write("slow.py", "import time\ntime.sleep(600)\n")
    process = cli.start("run", "slow.py", "--detach")
    out, _ = process.communicate(timeout=300)
    assert out.startswith("slow is submitted\n")
    assert cli.phases().keys() == {"slow"}
