"""`trainer-infra get`: runs as a table, or one run with its nodes and steps.

Called by `runs`. The table has the same columns for every target, but for the accelerators, which
this machine's runs have none of. JSON and YAML have the same fields: those of `runs.run.Run`
in camelCase, and under `status` the TrainJob's status as Kubernetes has it.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any, Final

import typer

from trainer_infra.api import yamltext
from trainer_infra.cli import named_runs, nodes, screen, selection, table
from trainer_infra.cli.options import RunSelection
from trainer_infra.cli.screen import PHASES, PIPE, Screen
from trainer_infra.cli.table import Column
from trainer_infra.cli.target import RunPlace
from trainer_infra.deploy.operations.targets import KUBERNETES
from trainer_infra.runs import sentences
from trainer_infra.runs.run import Failure, Node, Owner, Run

COLUMNS: Final = (
    Column("NAMESPACE"),
    Column("NAME"),
    Column("PHASE", styles=PHASES),
    Column("PROGRESS"),
    Column("READY"),
    Column("GPUS"),
    Column("AGE"),
    Column("STACK", below=True),
)
GPUS: Final = 5
"""Which of them only clusters have."""
READY: Final = ("Running", "Succeeded")


def show_one(place: RunPlace, name: str, output: str) -> None:
    """Print one run of the place's namespace.

    Raises:
        NotAvailable: there is no run that is meant by that name, or there are several.
    """
    run = named_runs.known_run(place, name)
    if output != "table":
        write_document(runs_document(run), output)
        return
    shown = screen.screen_of_stdout()
    lines = [*run_rows(place, [run], shown), "", *run_details(run, shown)]
    typer.echo("\n".join(lines))


def show_several(place: RunPlace, namespace: str | None, asked: RunSelection, output: str) -> None:
    """Print the runs of a namespace, or (`namespace` None) of all, that were asked for."""
    listing = place.target.list_runs(namespace)
    named_runs.warn_of(listing)
    found = selection.select_runs(listing.runs, asked)
    if output != "table":
        write_document({"items": [runs_document(each) for each in found]}, output)
    elif found:
        typer.echo("\n".join(run_rows(place, found, screen.screen_of_stdout())))
    else:
        typer.echo(no_runs(place, namespace, asked), err=True)


def no_runs(place: RunPlace, namespace: str | None, asked: RunSelection) -> str:
    """A sentence where there is no such run."""
    where = f"{f' in namespace {namespace}' if namespace else ''} {place.shown}"
    return f"no run{where} is all of that" if asked else f"no runs{where}"


def run_rows(place: RunPlace, found: Sequence[Run], shown: Screen) -> Iterator[str]:
    """The table of runs."""
    cells = [_row(run) for run in found]
    if place.kind == KUBERNETES:
        return table.table_lines(COLUMNS, cells, shown)
    fewer = [(*each[:GPUS], *each[GPUS + 1 :]) for each in cells]
    return table.table_lines((*COLUMNS[:GPUS], *COLUMNS[GPUS + 1 :]), fewer, shown)


def runs_document(value: Run | Owner | Node | Failure) -> dict[str, Any]:
    """A run, or a part of one, as JSON values; what it holds as JSON stays as it is."""
    return {_key(each.name): _value(getattr(value, each.name)) for each in fields(value)}


def run_details(run: Run, shown: Screen = PIPE) -> Iterator[str]:
    """What the table has no room for."""
    facts = {
        "uid": run.uid,
        "host": run.host,
        "urn": run.owner.urn,
        "started": run.started,
        "finished": run.finished,
        "waits for": "" if run.stuck else sentences.waits_for(run),
        "stuck": run.stuck,
        "remaining": sentences.remaining_time(run),
        "metrics": sentences.metrics_line(sentences.last_metrics(run)),
        "outputs": sentences.metrics_line(run.outputs),
        "message": run.message,
    }
    yield from (f"{name}: {value}" for name, value in facts.items() if value)
    for each in run.status.get("conditions") or ():
        yield f"condition: {each['type']}={each['status']} {each['reason']}: {each['message']}"
    if run.nodes:
        yield from ("", *nodes.node_rows(run, shown))
    if run.status.get("jobsStatus"):
        yield from ("", *nodes.step_rows(run, shown))


def write_document(whole: Mapping[str, Any], output: str) -> None:
    """Print JSON values as JSON or YAML."""
    if output == "json":
        typer.echo(json.dumps(whole, indent=2, ensure_ascii=False))
    else:
        typer.echo(yamltext.dump_yaml([whole]), nl=False)


def _row(run: Run) -> tuple[str, ...]:
    percent = sentences.percent_done(run)
    ready = sum(each.phase in READY and not each.kept_by for each in run.nodes)
    return (
        run.namespace,
        run.name,
        run.phase,
        "" if percent is None else f"{percent}%",
        f"{ready}/{len(run.nodes)}",
        str(sum(each.gpus for each in run.nodes)),
        sentences.time_between(run.created),
        selection.stack_name(run.owner),
    )


def _value(value: Any) -> Any:
    if isinstance(value, Run | Owner | Node | Failure):
        return runs_document(value)
    return [_value(each) for each in value] if isinstance(value, tuple) else value


def _key(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(each.capitalize() for each in rest)
