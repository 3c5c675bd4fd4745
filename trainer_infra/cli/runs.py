"""Signatures of the commands about runs that are there: from `get` to `gc`; hooked into `main`."""

# ruff: noqa: PLC0415  a command's module is imported when the command runs
# ruff: noqa: PLR0913, PLR0917  a command has as many parameters as options

from typing import TYPE_CHECKING, Annotated

import typer

from trainer_infra.cli.options import (
    AllNamespaces,
    Context,
    EndedBefore,
    Kubeconfig,
    MetricsRequest,
    Name,
    Names,
    RunChoice,
    RunFormat,
    RunSelection,
    TableRequest,
    TargetName,
    TargetRequest,
    Yes,
)

if TYPE_CHECKING:
    from trainer_infra.cli.target import RunPlace


def _place(asked: TargetRequest) -> "RunPlace":
    from trainer_infra.cli import target as targets

    return targets.chosen_place(asked)


def get(
    run_names: Annotated[
        list[str] | None,
        typer.Argument(metavar="NAME", help="One run, in detail, or several side by side."),
    ] = None,
    output: Annotated[RunFormat, typer.Option("--output", "-o", help="Format.")] = RunFormat.TABLE,
    *,
    wanted: TableRequest,
    history: MetricsRequest,
    selection: RunSelection,
    all_namespaces: AllNamespaces = False,
    asked: TargetRequest,
) -> None:
    """List runs, the newest last, show one in detail, or compare several."""
    from trainer_infra.cli import get as command

    names = run_names or []
    is_table = bool(wanted) or output is RunFormat.CSV
    if history:
        _judge_history(names, history, output, is_table=is_table)
    if names and (all_namespaces or selection):
        of_selection = "options that choose runs are for a list"
        which = "--all-namespaces lists runs" if all_namespaces else of_selection
        raise typer.BadParameter(f"{which}: leave NAME out")
    place = _place(asked)
    if history:
        from trainer_infra.cli import metrics

        metrics.show_metrics(place, names[0], history, output.value)
    elif len(names) == 1 and not is_table:
        command.show_one(place, names[0], output.value)
    elif names:
        command.show_named(place, names, wanted, output.value)
    else:
        choice = RunChoice(None, selection, all_namespaces)
        command.show_several(place, choice, wanted, output.value)


def _judge_history(
    names: list[str], history: MetricsRequest, output: RunFormat, *, is_table: bool
) -> None:
    """Refuse what does not go with a history, which is of one run."""
    if len(names) != 1:
        raise typer.BadParameter("--metrics, --plot and --all are about one run: give its NAME")
    if is_table:
        raise typer.BadParameter(
            "--columns, --sort and -o csv are about runs, a row each: leave them out, or --metrics"
        )
    if history.plot and output is not RunFormat.TABLE:
        raise typer.BadParameter("--plot draws: leave --output out, or --plot")


def describe(name: Name, *, asked: TargetRequest) -> None:
    """Show all there is to know of a run, and why it waits."""
    from trainer_infra.cli import describe as command

    command.show(_place(asked), name)


def logs(
    name: Name,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on until the run has ended.")
    ] = False,
    pod: Annotated[str | None, typer.Option(metavar="POD", help="Only this pod's lines.")] = None,
    tail: Annotated[
        int | None, typer.Option(min=0, metavar="N", help="Only the last N lines of each pod.")
    ] = None,
    *,
    asked: TargetRequest,
) -> None:
    """Print what a run's pods wrote."""
    from trainer_infra.cli import logs as command
    from trainer_infra.runs.run import LogSelection

    command.show(_place(asked), name, LogSelection(pod, tail, follow))


def suspend(choice: RunChoice, asked: TargetRequest) -> None:
    """Hold runs back: their pods end, and start again when they are resumed."""
    from trainer_infra.cli import run_changes as command

    choice.judge()
    raise typer.Exit(command.suspend(_place(asked), choice, value=True))


def resume(choice: RunChoice, asked: TargetRequest) -> None:
    """Let suspended runs go on."""
    from trainer_infra.cli import run_changes as command

    choice.judge()
    raise typer.Exit(command.suspend(_place(asked), choice, value=False))


def retry(choice: RunChoice, asked: TargetRequest) -> None:
    """Run runs again that failed, as they were submitted."""
    from trainer_infra.cli import run_changes as command

    choice.judge()
    raise typer.Exit(command.retry(_place(asked), choice))


def delete(
    run_names: Names = None,
    timeout: Annotated[
        float,
        typer.Option(
            min=0,
            metavar="SECONDS",
            help="Then processes here are killed, and what is left on a cluster is named.",
        ),
    ] = 60,
    ignore_not_found: Annotated[
        bool, typer.Option("--ignore-not-found", help="A run that is gone is not an error.")
    ] = False,
    *,
    selection: RunSelection,
    yes: Yes = False,
    all_namespaces: AllNamespaces = False,
    asked: TargetRequest,
) -> None:
    """End runs and remove what is left of them: those named, or those that options choose."""
    from trainer_infra.cli import run_changes as command

    choice = RunChoice(run_names, selection, all_namespaces)
    choice.judge()
    place = _place(asked)
    if run_names:
        done = command.delete(place, run_names, timeout=timeout, ignore_not_found=ignore_not_found)
    else:
        done = command.delete_selected(place, choice, timeout=timeout, confirmed=yes)
    raise typer.Exit(done)


def gc(
    stack: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Runs of this stack of the Pulumi program here; also PROJECT/STACK.",
        ),
    ] = None,
    older_than: EndedBefore = None,
    cache: Annotated[
        bool, typer.Option("--cache", help="Environments and code that no run uses.")
    ] = False,
    outputs: Annotated[
        bool, typer.Option("--outputs", help="What runs kept on this machine that are gone.")
    ] = False,
    yes: Yes = False,
    namespace: Annotated[
        str | None,
        typer.Option("--namespace", "-n", metavar="NAME", help="Only this namespace's; else all."),
    ] = None,
    target: Annotated[TargetName | None, typer.Option(help="Else what the stack says.")] = None,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Delete what is not needed: runs that a stack lost, old runs and outputs, environments and code."""
    asked = TargetRequest(namespace, target, kubeconfig, context)
    if cache or outputs:
        if stack or asked != TargetRequest() or (cache and outputs):
            option = "--outputs" if outputs else "--cache"
            raise typer.BadParameter(
                f"{option} is about this machine, it takes --older-than and --yes"
            )
        from trainer_infra.cli import gc_here

        if outputs:
            gc_here.collect_outputs(older_than, confirmed=yes)
        else:
            gc_here.collect_environments(older_than, confirmed=yes)
            gc_here.collect_code(older_than, confirmed=yes)
        return
    from trainer_infra.cli import gc_runs

    if stack:
        raise typer.Exit(gc_runs.collect_lost(asked, stack, older_than, confirmed=yes))
    if older_than is None:
        raise typer.BadParameter(
            "say what to delete: --stack NAME, what a stack lost; --older-than AGE, runs that ended; "
            "--cache, environments of packages and code of previews; --outputs, what runs kept that are gone"
        )
    raise typer.Exit(gc_runs.collect_ended(asked, older_than, confirmed=yes))
