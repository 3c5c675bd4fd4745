"""`trainer-infra get`: runs as a table, or one run with all that is known of it.

Called by `main`. JSON and YAML have the same fields: those of `local.runs.Run` in camelCase, and
under `status` the TrainJob's status as Kubernetes has it.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any

import typer

from trainer_infra.api import yamltext
from trainer_infra.cli import known
from trainer_infra.local import runs, told
from trainer_infra.local.runs import Failure, Node, Owner, Run

COLUMNS = ("NAMESPACE", "NAME", "PHASE", "PROGRESS", "READY", "AGE", "STACK")
READY = ("Running", "Succeeded")


def show(name: str | None, namespace: str | None, output: str) -> None:
    """Print one run, or all of a namespace, or (`namespace` None) all there are.

    Raises:
        NotAvailable: there is no run of that name.
    """
    if name is not None and namespace is not None:
        run = known.run(namespace, name)
        _print([run], document(run), output)
        if output == "table":
            typer.echo("\n" + "\n".join(details(run)))
        return
    found = runs.list_runs(namespace)
    _print(found, {"items": [document(each) for each in found]}, output)


def document(value: Run | Owner | Node | Failure) -> dict[str, Any]:
    """A run, or a part of one, as JSON values; what it holds as JSON stays as it is."""
    return {_key(each.name): _value(getattr(value, each.name)) for each in fields(value)}


def details(run: Run) -> Iterator[str]:
    """What the table has no room for, a line each."""
    facts = {
        "uid": run.uid,
        "machine": run.host,
        "urn": run.owner.urn,
        "started": run.started,
        "finished": run.finished,
        "waits for": run.waiting_for,
        "metrics": told.pairs(told.metrics(run)),
        "message": run.message,
    }
    yield from (f"{name}: {value}" for name, value in facts.items() if value)
    yield from (f"node: {told.node(run, each)}" for each in run.nodes)
    for each in run.status.get("conditions") or ():
        yield f"condition: {each['type']}={each['status']} {each['reason']}: {each['message']}"


def _print(found: Sequence[Run], whole: Mapping[str, Any], output: str) -> None:
    if output == "json":
        typer.echo(json.dumps(whole, indent=2, ensure_ascii=False))
    elif output == "yaml":
        typer.echo(yamltext.dump([whole]), nl=False)
    elif not found:
        typer.echo("no runs", err=True)
    else:
        _table(found)


def _table(found: Sequence[Run]) -> None:
    rows = [COLUMNS, *(_row(run) for run in found)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        typer.echo("  ".join(cells).rstrip())


def _row(run: Run) -> tuple[str, ...]:
    percent = told.percent(run)
    ready = sum(each.phase in READY for each in run.nodes)
    return (
        run.namespace,
        run.name,
        run.phase,
        "-" if percent is None else f"{percent}%",
        f"{ready}/{len(run.nodes)}",
        told.length(run.created),
        run.owner.stack or "-",
    )


def _value(value: Any) -> Any:
    if isinstance(value, Run | Owner | Node | Failure):
        return document(value)
    return [_value(each) for each in value] if isinstance(value, tuple) else value


def _key(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(each.capitalize() for each in rest)
