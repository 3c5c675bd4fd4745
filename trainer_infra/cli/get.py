"""`trainer-infra get`: runs as a table or side by side, or one run with its nodes and steps.

The table has the same columns for every target, but for the accelerators, which this machine's runs
have none of. JSON and YAML have the same fields: those of `runs.run.Run` in camelCase, and under
`status` the TrainJob's status as Kubernetes has it. Hosts and GPUs of nodes are shown only where there are any.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace
from typing import Any, Final

import typer

from trainer_infra.api import yamltext
from trainer_infra.cli import named_runs, run_columns, screen, shown_settings, table
from trainer_infra.cli.options import RunChoice, TableRequest
from trainer_infra.cli.screen import PHASES, PIPE, Screen
from trainer_infra.cli.table import Column
from trainer_infra.cli.target import RunPlace
from trainer_infra.deploy.operations.targets import KUBERNETES
from trainer_infra.runs import sentences
from trainer_infra.runs.attempts import Attempts, PastAttempt
from trainer_infra.runs.run import Failure, Node, Owner, Run
from trainer_infra.runs.settings import RunSettings

COLUMNS: Final = ("namespace", "name", "phase", "progress", "ready", "gpus", "age", "stack")
"""Of a list; only runs of a cluster have GPUs."""
_AT_A_TIME: Final = 16
_NODES: Final = (
    Column("STEP"),
    Column("POD"),
    Column("HOST", optional=True),
    Column("GPUS", optional=True),
    Column("PHASE", styles=PHASES),
    Column("RESTARTS"),
    Column("PROGRESS"),
    Column("METRICS", optional=True, folds=True),
)
_COUNTS: Final = ("ready", "active", "succeeded", "failed", "suspended")
"""Of a step's jobs, as `status.jobsStatus` has them."""
_STEPS: Final = (Column("STEP"), *(Column(each.upper()) for each in _COUNTS))


def show_one(place: RunPlace, name: str, output: str) -> None:
    """Print the run of the place's namespace that is meant by a name."""
    run = named_runs.known_run(place, name)
    if output != "table":
        write_document(runs_document(run), output)
        return
    shown = screen.screen_of_stdout()
    lines = [*run_rows(place, [run], shown), "", *run_details(run, shown)]
    typer.echo("\n".join(lines))


def show_several(place: RunPlace, choice: RunChoice, wanted: TableRequest, output: str) -> None:
    """Print the runs that options choose, with the columns that are asked for."""
    is_table = output in {"table", "csv"}
    found = named_runs.chosen_runs(place, choice, says_none=is_table)
    if found or not is_table:
        by_default = run_columns.CSV if output == "csv" else _columns_of(place)
        _show(_looked_at(place, found) if wanted else found, wanted, output, by_default)


def show_named(
    place: RunPlace, run_names: Sequence[str], wanted: TableRequest, output: str
) -> None:
    """Print the runs of the place's namespace that are meant by names: in a table side by side."""
    found = [named_runs.known_run(place, each) for each in run_names]
    by_default = run_columns.SIDE_BY_SIDE if output == "table" else run_columns.CSV
    _show(found, wanted, output, by_default, side_by_side=len(found) > 1)


def run_rows(place: RunPlace, found: Sequence[Run], shown: Screen) -> Iterator[str]:
    """The table of runs."""
    return run_columns.rows(found, run_columns.columns_of(found, _columns_of(place)), shown)


def runs_document(
    value: Run | Owner | Node | Failure | RunSettings | Attempts | PastAttempt,
) -> dict[str, Any]:
    """A run, or a part of one, as JSON values; what it holds as JSON stays as it is."""
    if isinstance(value, Run):
        value = replace(value, settings=shown_settings.shown_settings(value))
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
        "attempts": run.attempts.briefly(),
        "metrics": sentences.metrics_line(sentences.last_metrics(run)),
        "outputs": sentences.metrics_line(run.outputs),
        "message": run.message,
    }
    yield from (f"{name}: {value}" for name, value in facts.items() if value)
    for each in run.status.get("conditions") or ():
        yield f"condition: {each['type']}={each['status']} {each['reason']}: {each['message']}"
    if run.nodes:
        yield from ("", *node_rows(run, shown))
    if run.status.get("jobsStatus"):
        yield from ("", *step_rows(run, shown))


def write_document(whole: Mapping[str, Any], output: str) -> None:
    """Print JSON values as JSON or YAML."""
    if output == "json":
        typer.echo(json.dumps(whole, indent=2, ensure_ascii=False))
    else:
        typer.echo(yamltext.dump_yaml([whole]), nl=False)


def node_rows(run: Run, screen: Screen) -> Iterator[str]:
    """A row per pod of the trainer step; hosts and GPUs only where there are any."""
    return table.table_lines(_NODES, [_node(run, each) for each in run.nodes], screen)


def step_rows(run: Run, screen: Screen) -> Iterator[str]:
    """A row per step with the number of its jobs in each state."""
    found = run.status.get("jobsStatus") or ()
    rows = [(each["name"], *(str(each.get(count, 0)) for count in _COUNTS)) for each in found]
    return table.table_lines(_STEPS, rows, screen)


def _looked_at(place: RunPlace, runs: Sequence[Run]) -> Sequence[Run]:
    """The runs with what a list of a cluster leaves out: what those report that go on."""
    if place.kind != KUBERNETES:
        return runs

    def one(run: Run) -> Run:
        return run if sentences.is_finished(run) else place.target.get(*run.key.address) or run

    with ThreadPoolExecutor(_AT_A_TIME) as pool:
        return tuple(pool.map(one, runs))


def _show(
    runs: Sequence[Run],
    wanted: TableRequest,
    output: str,
    by_default: Sequence[str],
    *,
    side_by_side: bool = False,
) -> None:
    """Print runs in the columns and the order that are asked for."""
    runs = run_columns.sorted_runs(runs, wanted.sort) if wanted.sort else runs
    if not wanted.columns and output in {"json", "yaml"}:
        write_document({"items": [runs_document(each) for each in runs]}, output)
        return
    spaces = len({each.namespace for each in runs}) > 1
    names = (*(("namespace",) if spaces else ()), "name", *wanted.names)
    if not wanted.columns:
        names = (*by_default, *filter(None, ((wanted.sort or "").removeprefix("-"),)))
    columns = run_columns.columns_of(runs, names)
    if missing := set(wanted.names) & set(run_columns.GROUPS) - {each.group for each in columns}:
        typer.echo(f"nothing differs between these runs in {', '.join(sorted(missing))}", err=True)
    if output == "csv":
        typer.echo(run_columns.csv_text(runs, columns), nl=False)
    elif output != "table":
        write_document({"items": run_columns.items(runs, columns)}, output)
    elif side_by_side:
        typer.echo("\n".join(run_columns.side_by_side(runs, columns, screen.screen_of_stdout())))
    else:
        typer.echo("\n".join(run_columns.rows(runs, columns, screen.screen_of_stdout())))


def _columns_of(place: RunPlace) -> Sequence[str]:
    return [each for each in COLUMNS if each != "gpus" or place.kind == KUBERNETES]


def _value(value: Any) -> Any:
    if isinstance(value, Run | Owner | Node | Failure | RunSettings | Attempts | PastAttempt):
        return runs_document(value)
    return [_value(each) for each in value] if isinstance(value, tuple) else value


def _key(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(each.capitalize() for each in rest)


def _node(run: Run, node: Node) -> tuple[str, ...]:
    return (
        node.step or sentences.short_pod_name(run, node.pod).rsplit("-", 2)[0],
        node.pod,
        node.host,
        str(node.gpus or ""),
        node.phase,
        str(node.restarts),
        "" if node.progress is None else f"{node.progress}%",
        sentences.metrics_line(node.metrics),
    )
