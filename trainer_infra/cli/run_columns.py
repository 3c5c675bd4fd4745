"""What can be said of runs in columns, and in which order runs stand: one table for every format. Pure.

A column has a name and a value for each run; the same table is rows in a terminal, runs side by
side, CSV, JSON and YAML.
"""

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from trainer_infra.cli import named_runs, shown_settings, table
from trainer_infra.cli.screen import PHASES, Screen
from trainer_infra.cli.table import Column
from trainer_infra.errors import Refused
from trainer_infra.json_values import as_integer
from trainer_infra.runs import sentences
from trainer_infra.runs.run import Run

ARGS: Final = "args"
METRICS: Final = "metrics"
ENV: Final = "env"
SETTINGS: Final = "settings"
GROUPS: Final = (ARGS, METRICS, ENV, SETTINGS)
"""What --columns takes for several: of settings those that differ between the runs."""
CSV: Final = (
    *("namespace", "name", "phase", "created", "started", "finished", "duration", "stack"),
    *(ARGS, METRICS),
)
"""Columns of a file that another program reads."""
SIDE_BY_SIDE: Final = ("name", "phase", "progress", "duration", SETTINGS, ARGS, ENV, METRICS)
"""What is compared of runs that are named."""


@dataclass(frozen=True, slots=True)
class RunColumn:
    """One fact of each run."""

    name: str
    """In the head, as it is asked for."""
    value: Callable[[Run], Any]
    """JSON; None or empty where the run has none."""
    group: str = ""
    """One of `GROUPS`; empty of what every run has."""

    def text(self, run: Run) -> str:
        """The value in a cell that people read."""
        value = self.value(run)
        if value is None:
            return ""
        if self.group == METRICS:
            return sentences.number_shown(value)
        shown = _SHOWN.get(self.name) if not self.group else None
        return shown(value) if shown else cell_text(value)

    def data(self, run: Run) -> Any:
        """The value as JSON; metrics, which are reported as text, as numbers where they are."""
        value = self.value(run)
        number = sentences.number_of(value) if self.group == METRICS else None
        return value if number is None else as_integer(number)

    @property
    def shown(self) -> Column:
        """As a table has it."""
        if self.group in {ARGS, ENV, METRICS}:
            return Column(self.name)
        styles = PHASES if self.name == "phase" else {}
        below = self.name in {"stack", "image", "packages", "command"}
        return Column(self.name.upper(), styles=styles, below=below)


_SHOWN: Final[Mapping[str, Callable[[Any], str]]] = {
    "progress": "{}%".format,
    "age": sentences.duration_shown,
    "duration": sentences.duration_shown,
}
"""How people read what has a unit."""


def _facts(run: Run) -> dict[str, Any]:
    ready = sum(each.phase in {"Running", "Succeeded"} and not each.kept_by for each in run.nodes)
    duration = sentences.seconds_between(run.started, run.finished) if run.started else None
    return {
        "namespace": run.namespace,
        "name": run.name,
        "phase": run.phase,
        "progress": sentences.percent_done(run),
        "ready": f"{ready}/{len(run.nodes)}",
        "gpus": sum(each.gpus for each in run.nodes),
        "age": int(sentences.seconds_between(run.created)),
        "created": run.created,
        "started": run.started,
        "finished": run.finished,
        "duration": None if duration is None else int(duration),
        "message": run.message,
        "attempts": run.attempts.briefly(),
        "stack": named_runs.stack_name(run.owner),
    }


def _settings(run: Run) -> dict[str, Any]:
    found = shown_settings.shown_settings(run)
    return {
        "runtime": found.runtime,
        "image": found.image,
        "nodes": found.nodes or None,
        "resources": sentences.settings_line(found.resources),
        "packages": " ".join(found.packages),
        "command": " ".join(found.command),
        "code": run.code_origin,
        **found.inputs,
    }


def _arguments(run: Run) -> dict[str, Any]:
    found = shown_settings.shown_settings(run)
    return {**found.defaults, **found.arguments}


_READERS: Final[Mapping[str, Callable[[Run], Mapping[str, Any]]]] = {
    "": _facts,
    SETTINGS: _settings,
    ARGS: _arguments,
    METRICS: sentences.last_metrics,
    ENV: lambda run: shown_settings.shown_settings(run).env,
}
"""What a run has, by group."""


def columns_of(runs: Sequence[Run], wanted: Sequence[str]) -> tuple[RunColumn, ...]:
    """The columns of these names, and of the groups among them, each once.

    `metrics.loss` is the metric where an argument is called so too.

    Raises:
        Refused: No run has a column of a name.
    """
    known = partial(_columns, runs)
    found: list[RunColumn] = []
    for name in wanted:
        if name in GROUPS:
            found += _of_group(runs, known(name), name)
        elif chosen := _named(known, name):
            found += chosen
        else:
            raise Refused(_unknown(known, name))
    unique = {(each.group, each.name): each for each in found}.values()
    names = [each.name for each in unique]
    return tuple(
        RunColumn(f"{each.group}.{each.name}", each.value, each.group)
        if names.count(each.name) > 1
        else each
        for each in unique
    )


def sorted_runs(runs: Sequence[Run], wanted: str) -> tuple[Run, ...]:
    """The runs by a column, the smallest first, with `-` before its name the largest.

    Numbers come before texts; runs without a value, or with one that is not a number (`nan`), are last.

    Raises:
        Refused: No run has such a column.
    """
    name, down = wanted.removeprefix("-"), wanted.startswith("-")
    if name in GROUPS:
        raise Refused(f"--sort takes the name of one column, and {name} is several")
    # Of an argument and a metric of one name the metric is meant.
    column = min(columns_of(runs, (name,)), key=lambda each: each.group != METRICS)
    values = {run.uid: column.value(run) for run in runs}
    numbers = {uid: sentences.number_of(each) for uid, each in values.items()}
    with_number = [run for run in runs if numbers[run.uid] is not None]
    texts = [run for run in runs if run not in with_number and not _is_nothing(values[run.uid])]
    rest = [run for run in runs if run not in with_number and run not in texts]
    with_number.sort(key=lambda run: numbers[run.uid] or 0.0, reverse=down)
    texts.sort(key=lambda run: cell_text(values[run.uid]), reverse=down)
    return (*with_number, *texts, *rest)


def _is_nothing(value: Any) -> bool:
    text = cell_text(value)
    return not text or sentences.is_no_number(text)


def rows(runs: Sequence[Run], columns: Sequence[RunColumn], screen: Screen) -> Iterator[str]:
    """A table with a row for each run."""
    cells = [[each.text(run) for each in columns] for run in runs]
    shown = [each.shown for each in columns]
    if any(each.below for each in shown):
        return table.table_lines(shown, cells, screen)
    return table.fitting_lines(shown, cells, screen, "-o csv and -o json have all")


def side_by_side(
    runs: Sequence[Run], columns: Sequence[RunColumn], screen: Screen
) -> Iterator[str]:
    """A table with a column for each run, in whose head is its name."""
    facts = [each for each in columns if each.name != "name"]
    head = [Column("NAME"), *(Column(each.name, folds=True) for each in runs)]
    cells = [[each.shown.name, *(each.text(run) for run in runs)] for each in facts]
    return table.table_lines(head, cells, screen)


def csv_text(runs: Sequence[Run], columns: Sequence[RunColumn]) -> str:
    """The table as CSV, with every digit."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(each.name for each in columns)
    writer.writerows([cell_text(each.value(run)) for each in columns] for run in runs)
    return file.getvalue()


def items(runs: Sequence[Run], columns: Sequence[RunColumn]) -> list[dict[str, Any]]:
    """The table as JSON, an object for each run."""
    return [{each.name: each.data(run) for each in columns} for run in runs]


def cell_text(value: Any) -> str:
    """A JSON value in a cell."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _columns(runs: Sequence[Run], group: str) -> tuple[RunColumn, ...]:
    """All columns of a group, in the order in which runs have them."""
    read = _READERS[group]
    by_run = {run.uid: read(run) for run in runs}
    every = dict.fromkeys(name for each in by_run.values() for name in each)
    if not runs:
        every = dict.fromkeys(CSV) if not group else {}
    return tuple(RunColumn(name, _reader(by_run, name), group) for name in every)


def _reader(by_run: Mapping[str, Mapping[str, Any]], name: str) -> Callable[[Run], Any]:
    return lambda run: by_run[run.uid].get(name)


def _of_group(runs: Sequence[Run], columns: Sequence[RunColumn], group: str) -> Sequence[RunColumn]:
    """The columns of a group: of settings those that differ, where there are several runs."""
    if group == METRICS or len(runs) == 1:
        return [each for each in columns if any(map(each.text, runs))]
    return [each for each in columns if len({each.text(run) for run in runs}) > 1]


def _named(known: Callable[[str], Sequence[RunColumn]], name: str) -> Sequence[RunColumn]:
    if facts := [each for each in known("") if each.name == name]:
        return facts
    group, _, rest = name.partition(".")
    if group in GROUPS and (exact := [each for each in known(group) if each.name == rest]):
        return exact
    return [each for group in GROUPS for each in known(group) if each.name == name]


def _unknown(known: Callable[[str], Sequence[RunColumn]], name: str) -> str:
    listed = {group: ", ".join(each.name for each in known(group)) for group in _READERS}
    parts = [f"of {group} {listed[group]}" for group in GROUPS if listed[group]]
    own = f"no run here has a column {name!r}; there are {listed['']}"
    return "; ".join((own, *parts, f"and {', '.join(GROUPS)} for all that differ"))
