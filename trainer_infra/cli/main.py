"""Entry point and signatures of `trainer-infra`; the console script calls `main`.

Every command imports its module when it is called, so that `--help` loads no room; typer's rich
help costs more time than all else together and is off. Errors raised on purpose become their
message on stderr and exit code 1; any other error is a bug and shows its traceback.
"""
# ruff: noqa: PLC0415  a command's module is imported when the command runs
# ruff: noqa: PLR0913, PLR0917  a command has as many parameters as options
# ruff: noqa: ARG001  the callback of `run --target` has judged it: there is one target

import gc
import io
import os
import sys
from pathlib import Path
from typing import Annotated, Final

import typer

from trainer_infra.cli import policy, runs
from trainer_infra.cli.command_group import CommandGroup
from trainer_infra.cli.options import (
    Context,
    CpuOfPython,
    MigratedAs,
    NodesOfPython,
    ObjectFormat,
    Plugins,
    RuntimeOfPython,
    TableFormat,
    TargetName,
    with_option_groups,
)
from trainer_infra.errors import TrainerInfraError

app = typer.Typer(
    cls=CommandGroup,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


_RUBBISH: Final = 50_000
"""Values that are made before Python looks which of them are of no use any more."""


def main() -> int:
    """Run the command of this process's arguments; its exit code."""
    # What is imported stays: looking for rubbish among it as often as usual takes 20 ms of a start.
    gc.set_threshold(_RUBBISH)
    # Pydantic looks for plugins of its own in every installed package: a tenth of a second.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    for each in (sys.stdout, sys.stderr):
        if isinstance(each, io.TextIOWrapper):
            # What a terminal's encoding lacks is shown as Python writes it, and ends no command.
            each.reconfigure(errors="backslashreplace")
    try:
        app()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 1
    except TrainerInfraError as error:
        typer.echo(str(error), err=True)
        return 1
    return 0


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
def init(
    directory: Annotated[
        str, typer.Argument(metavar="DIR", help="Where; made where it is missing.")
    ] = ".",
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="The project's name; else the folder's.")
    ] = None,
    target: Annotated[TargetName | None, typer.Option(help="Where it trains; else local.")] = None,
    context: Context = None,
    package: Annotated[
        str | None,
        typer.Option(
            metavar="PLACE",
            help="Path or URL of trainer-infra for requirements.txt; else where this one is from.",
        ),
    ] = None,
) -> None:
    """Begin a Pulumi project that trains a model, with a stack `dev`."""
    from trainer_infra.cli import init as command

    if target is TargetName.LOCAL and context is not None:
        raise typer.BadParameter("--context is of --target kubernetes, not of local")
    place = target or (TargetName.LOCAL if context is None else TargetName.KUBERNETES)
    command.create(command.StarterRequest(directory, name, place.value, context, package))


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
    like_reference: Annotated[
        bool, typer.Option("--like-reference", help="Switch our deviations off.")
    ] = False,
    plugin: Plugins = None,
) -> None:
    """Show every Kubernetes object that TrainJobs become."""
    from trainer_infra.cli import render as command

    made = command.render_documents(files, plugin or (), like_reference=like_reference)
    for warning in made.warnings:
        typer.echo(f"warning: {warning}", err=True)
    typer.echo(command.objects_text(made.objects, output.value), nl=False)


@app.command()
def controller(
    config: Annotated[
        Path | None,
        typer.Option("--config", metavar="FILE", help="The manager's configuration."),
    ] = None,
    kubeconfig: Annotated[
        str | None,
        typer.Option("--kubeconfig", metavar="FILE", help="Outside a cluster: which one."),
    ] = None,
    feature_gates: Annotated[
        str, typer.Option("--feature-gates", metavar="NAME=BOOL,...", help="Alpha features.")
    ] = "",
    like_reference: Annotated[
        bool, typer.Option("--like-reference", help="Switch our deviations off.")
    ] = False,
    log_level: Annotated[
        str, typer.Option("--log-level", help="debug, info, warning or error.")
    ] = "info",
    plugin: Plugins = None,
) -> None:
    """Reconcile the TrainJobs of a cluster; runs until SIGTERM."""
    from trainer_infra.cli import controller as command

    command.run_controller(
        command.ControllerOptions(
            config, kubeconfig, feature_gates, plugin or (), log_level, like_reference
        )
    )


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
def run(
    context: typer.Context,
    file: Annotated[
        str,
        typer.Argument(metavar="FILE", help="A YAML file, - for stdin, or FILE.py[:FUNCTION]."),
    ],
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="ARGS", help="Arguments of a Python script."),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The run's name; in YAML the TrainJob to run."),
    ] = None,
    namespace: Annotated[
        str | None,
        typer.Option("--namespace", "-n", metavar="NAME", help="The run's namespace."),
    ] = None,
    detach: Annotated[bool, typer.Option("--detach", help="Submit and return.")] = False,
    runtime: RuntimeOfPython = None,
    nodes: NodesOfPython = None,
    cpu: CpuOfPython = None,
    arg: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=JSON", help="Python: an argument of the function; repeatable."),
    ] = None,
    env: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="Python: an env variable; repeatable."),
    ] = None,
    package: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME==VERSION", help="Python: a requirement, or a lock file; repeatable."
        ),
    ] = None,
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

    python = submission.Python(
        runtime=runtime,
        nodes=nodes,
        cpu=cpu,
        arg=tuple(arg or ()),
        env=tuple(env or ()),
        package=tuple(package or ()),
        words=tuple(words or ()),
    )
    try:
        made = submission.submission_of(
            file, submission.RunNaming(name, namespace, tuple(plugin or ())), python
        )
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
def lock(
    requirements: Annotated[
        Path, typer.Argument(metavar="FILE", help="A requirements file.")
    ] = Path("requirements.in"),
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="The lock; else FILE with .lock."),
    ] = None,
    python: Annotated[
        str | None,
        typer.Option(metavar="VERSION", help="The oldest Python that it is for; else this one."),
    ] = None,
    image_has: Annotated[
        list[str] | None,
        typer.Option(
            "--image-has",
            metavar="NAME",
            help="A package of the image, left out with what only it needs; repeatable.",
        ),
    ] = None,
    upgrade: Annotated[
        bool, typer.Option("--upgrade", help="Take the newest versions, not those of the lock.")
    ] = False,
) -> None:
    """Resolve a job's packages once, into a lock file for CustomTrainer(packages=...)."""
    from trainer_infra.cli import lock as command

    command.lock_requirements(
        command.LockRequest(requirements, output, python, tuple(image_has or ()), upgrade)
    )


app.command()(policy.check)
app.add_typer(policy.rules_app, name="rules")
