"""Entry point and signatures of `trainer-infra`; the console script calls `main`.

Every command imports its module when it is called, so that `--help` loads no room; typer's rich
help costs more time than all else together and is off. Errors raised on purpose become their
message on stderr and exit code 1; any other error is a bug and shows its traceback.
"""
# ruff: noqa: PLC0415  a command's module is imported when the command runs
# ruff: noqa: PLR0913  a command has as many parameters as options
# ruff: noqa: ARG001  the callback of `run --target` has judged it: there is one target

import atexit
import gc
import io
import os
import sys
from copy import copy
from typing import Annotated, Final

import typer

from trainer_infra.cli import runs
from trainer_infra.cli.command_group import CommandGroup
from trainer_infra.cli.options import (
    ControllerRequest,
    LikeReference,
    LockRequest,
    MigratedAs,
    ObjectFormat,
    Plugins,
    PythonRequest,
    StarterRequest,
    TableFormat,
    TargetName,
    with_option_groups,
)
from trainer_infra.cli.policy import CheckRequest, PackOfRules, RulesFormat, RulesRequest
from trainer_infra.errors import TrainerInfraError

app = typer.Typer(
    cls=CommandGroup,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


_RUBBISH: Final = 100_000
"""Values that are made before Python looks which of them are of no use any more."""


def main() -> int:
    """Run the command of this process's arguments; its exit code."""
    # What is imported stays: looking for rubbish among it as often as usual takes 20 ms of a start.
    gc.set_threshold(_RUBBISH)
    # Nor is it looked for among all values when the process ends anyway: 70 ms of a check.
    atexit.register(gc.freeze)
    # Pydantic looks for plugins of its own in every installed package: a tenth of a second.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    for each in (sys.stdout, sys.stderr):
        if isinstance(each, io.TextIOWrapper):
            # What a terminal's encoding lacks is shown as Python writes it, and ends no command.
            each.reconfigure(errors="backslashreplace")
    try:
        _program(sys.argv[1:2])()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 1
    except TrainerInfraError as error:
        typer.echo(str(error), err=True)
        return 1
    return 0


def _program(words: list[str]) -> typer.Typer:
    """The program for a command line; with its command alone where the first word names one.

    To read the options of all others takes 10 ms.
    """
    named = [
        each for each in app.registered_commands if getattr(each.callback, "__name__", "") in words
    ]
    if not named:
        return app
    found = copy(app)
    found.registered_commands, found.registered_groups = named, []
    return found


def _version(value: bool) -> None:
    if value:
        from importlib import metadata

        typer.echo(f"trainer-infra {metadata.version('trainer-infra')}")
        raise typer.Exit


def _here(value: TargetName) -> TargetName:
    if value is not TargetName.LOCAL:
        raise typer.BadParameter(
            "`run` runs on this machine only; on Kubernetes declare the TrainJob in a Pulumi "
            "program whose stack has trainer:target kubernetes"
        )
    return value


@app.callback()
def trainer_infra(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Kubeflow Trainer v2: render TrainJobs, run them here, look after runs here and on clusters."""


@app.command()
@with_option_groups
def init(wanted: StarterRequest) -> None:
    """Begin a Pulumi project that trains a model, with a stack `dev`."""
    from trainer_infra.cli import init as command

    if wanted.target is TargetName.LOCAL and wanted.context is not None:
        raise typer.BadParameter("--context applies to --target kubernetes only")
    command.create(wanted)


@app.command()
def render(
    files: Annotated[
        list[str],
        typer.Option(
            "--file", "-f", metavar="FILE", help="A file, a folder, or - for stdin; repeatable."
        ),
    ],
    output: Annotated[
        ObjectFormat, typer.Option("--output", "-o", help="Format.")
    ] = ObjectFormat.YAML,
    like_reference: LikeReference = False,
    plugin: Plugins = None,
) -> None:
    """Show every Kubernetes object that TrainJobs become."""
    from trainer_infra.cli import render as command

    made = command.render_documents(files, plugin or (), like_reference=like_reference)
    for warning in made.warnings:
        typer.echo(f"warning: {warning}", err=True)
    typer.echo(command.objects_text(made.objects, output.value), nl=False)


@app.command()
@with_option_groups
def controller(asked: ControllerRequest) -> None:
    """Reconcile the TrainJobs of a cluster; runs until SIGTERM."""
    from trainer_infra.cli import controller as command

    command.run_controller(asked)


@app.command()
def catalog(
    runtimes: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME", help="Runtimes; all of them when none is named."),
    ] = None,
    output: Annotated[
        TableFormat, typer.Option("--output", "-o", help="Format.")
    ] = TableFormat.TABLE,
) -> None:
    """Show the shipped runtimes; -o yaml prints manifests for kubectl."""
    from trainer_infra.cli import catalog as command

    command.show(runtimes or (), output.value)


@app.command()
def migrate(
    files: Annotated[
        list[str], typer.Argument(metavar="FILE", help="YAML or JSON; - for stdin; repeatable.")
    ],
    output: Annotated[
        MigratedAs, typer.Option("--output", "-o", help="Format; python is a Pulumi program.")
    ] = MigratedAs.YAML,
) -> None:
    """Turn v1 jobs (PyTorchJob, MPIJob, XGBoostJob, JAXJob) into TrainJobs and runtimes."""
    from trainer_infra.cli import migrate as command

    command.show(files, output.value)


@app.command()
@with_option_groups
def run(
    context: typer.Context,
    file: Annotated[
        str,
        typer.Argument(metavar="FILE", help="A YAML file, - for stdin, or FILE.py[:FUNCTION]."),
    ],
    name: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The run's name; in YAML the TrainJob to run."),
    ] = None,
    namespace: Annotated[
        str | None,
        typer.Option("--namespace", "-n", metavar="NAME", help="The run's namespace."),
    ] = None,
    detach: Annotated[bool, typer.Option("--detach", help="Submit and return.")] = False,
    *,
    python: PythonRequest,
    plugin: Plugins = None,
    target: Annotated[
        TargetName, typer.Option(callback=_here, help="Only local.")
    ] = TargetName.LOCAL,
) -> None:
    """Run one TrainJob on this machine and follow it to its end.

    Ctrl-C ends the run. Exit code: 0 complete, 1 failed, 130 interrupted.
    """
    from trainer_infra.cli import run as command
    from trainer_infra.cli import submission

    named = submission.RunNaming(name, namespace, tuple(plugin or ()))
    try:
        made = submission.submission_of(file, named, python)
    except submission.RunUsage as error:
        raise typer.BadParameter(str(error), context) from error
    raise typer.Exit(command.run(made, detach=detach))


for _command in (
    runs.get,
    runs.describe,
    runs.logs,
    runs.suspend,
    runs.resume,
    runs.retry,
    runs.delete,
    runs.gc,
):
    app.command()(with_option_groups(_command))


@app.command()
def crds(
    kinds: Annotated[
        list[str] | None,
        typer.Argument(metavar="KIND", help="TrainJob, TrainingRuntime or ClusterTrainingRuntime."),
    ] = None,
    output: Annotated[
        ObjectFormat, typer.Option("--output", "-o", help="Format.")
    ] = ObjectFormat.YAML,
) -> None:
    """Print the CustomResourceDefinitions of our kinds, for `kubectl apply -f -`."""
    from trainer_infra.cli import render as command

    typer.echo(command.crds_text(kinds or (), output.value), nl=False)


@app.command()
@with_option_groups
def lock(request: LockRequest) -> None:
    """Resolve a job's packages once, into a lock file for CustomTrainer(packages=...)."""
    from trainer_infra.cli import lock as command

    command.lock_requirements(request)


@app.command()
@with_option_groups
def check(asked: CheckRequest) -> None:
    """Judge TrainJobs, runtimes and queues by policy rules.

    Exit code: 0 nothing fails, 1 a finding does, 2 wrong usage, 3 something cannot be read.
    """
    from trainer_infra.cli import check as command

    if not (asked.paths or asked.cluster or asked.pre_commit):
        raise typer.BadParameter("name a file or a folder, - for stdin, or use --cluster")
    raise typer.Exit(command.run(asked))


rules_app = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="List policy rules, explain them, test packs."
)

app.add_typer(rules_app, name="rules")


@rules_app.command("list")
@with_option_groups
def list_rules(
    asked: RulesRequest,
    output: Annotated[
        RulesFormat, typer.Option("--output", "-o", help="Format.")
    ] = RulesFormat.TABLE,
) -> None:
    """List the policy rules."""
    from trainer_infra.cli import rules as command

    typer.echo(command.list_rules(asked, output.value), nl=False)


@rules_app.command()
def explain(
    rule: Annotated[str, typer.Argument(metavar="ID", help="A rule.")], pack: PackOfRules = None
) -> None:
    """Show why a rule is there, what to do about its findings, its parameters and an example."""
    from trainer_infra.cli import rules as command

    typer.echo(command.explain_rule(rule, pack), nl=False)


@rules_app.command()
def test(
    pack: Annotated[
        str, typer.Argument(metavar="PACK", help="One of ours, or a folder of your own.")
    ],
) -> None:
    """Try every rule of a pack on its good and bad examples.

    Exit code: 0 all are as they should be, 1 some are not.
    """
    from trainer_infra.cli import rules as command

    raise typer.Exit(command.try_rules(pack))
