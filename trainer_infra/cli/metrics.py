"""`trainer-infra get NAME --metrics`: what training reported, as a table or as a plot of one metric.

A table has some rows, evenly spread over the time, unless all are asked for. A plot is of braille dots: one character has two dots beside each other, and four on top of each other.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import timedelta
from itertools import pairwise
from typing import Final

import typer

from trainer_infra import names
from trainer_infra.cli import get, named_runs, screen, table
from trainer_infra.cli.options import MetricsRequest
from trainer_infra.cli.screen import Screen
from trainer_infra.cli.table import Column
from trainer_infra.cli.target import RunPlace
from trainer_infra.errors import NotAvailable
from trainer_infra.runs import report_history, sentences
from trainer_infra.runs.report_history import PastReport
from trainer_infra.runs.run import Run, RunKey

DOTS: Final = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
"""Bits of a braille character's dots, by row and column."""
BLANK: Final = 0x2800
"""The braille character without dots."""
PLOT_ROWS: Final = 15
"""Lines of a plot without its axis."""
UP, CORNER, ALONG = "\u2502\u2514\u2500"
"""The axes."""
Point = tuple[float, float]
ROWS: Final = 20
"""Rows of a table, unless all are asked for."""
WIDTH: Final = 80
"""Characters of a plot in a pipe."""
WIDEST: Final = 120
"""Characters of a plot in a terminal, at most."""
PROGRESS: Final = "progress"
"""What can be plotted besides metrics."""
STEP: Final = "step"
FIRST: Final = (STEP, "epoch", names.SAMPLES_PER_SECOND)
"""Metrics that come before others, because callbacks of every framework have them."""


def show_metrics(place: RunPlace, name: str, asked: MetricsRequest, output: str) -> None:
    """Print what the run reported that is meant by a name.

    Raises:
        NotAvailable: it has no such metric.
    """
    run = named_runs.known_run(place, name)
    history = place.target.history(RunKey(*run.key.address))
    if output != "table":
        get.write_document({"items": [asdict(each) for each in history]}, output)
        return
    if not history:
        how = "let its training code call trainer_infra.report, or use a callback of trainer_infra.callbacks"
        typer.echo(f"{run.name} has reported nothing: {how}", err=True)
        return
    shown = screen.screen_of_stdout()
    if asked.plot is not None:
        lines = _plots(run, history, asked.plot, shown)
    else:
        rows = history if asked.all_rows else report_history.thinned(history, ROWS)
        lines = _table(run, rows, shown)
    typer.echo("\n".join(lines))


def _table(run: Run, history: Sequence[PastReport], shown: Screen) -> Iterator[str]:
    """A row per report, and a column per metric, as many as there is room for."""
    names_of_metrics = list(dict.fromkeys(name for each in history for name in each.metrics))
    ordered = sorted(names_of_metrics, key=lambda name: (*FIRST, name).index(name))
    columns = [
        Column("ELAPSED"),
        Column("NODE", optional=True),
        Column("PROGRESS"),
        Column("LEFT", optional=True),
        *map(Column, ordered),
    ]
    several = len({each.node for each in history}) > 1
    rows = [
        (
            _clock(_seconds(run, history, each)),
            each.node if several else "",
            "" if each.progress is None else f"{each.progress}%",
            "" if each.remaining is None else sentences.duration_shown(each.remaining),
            *(sentences.number_shown(each.metrics.get(name, "")) for name in ordered),
        )
        for each in history
    ]
    elsewhere = "--plot NAME draws one, -o json has all"
    yield from table.fitting_lines(columns, rows, shown, elsewhere)


@dataclass(frozen=True, slots=True)
class _Dot:
    """One number of a metric."""

    node: str
    step: float | None
    seconds: float
    """Since the run started."""
    value: float


def _plots(run: Run, history: Sequence[PastReport], metric: str, shown: Screen) -> Iterator[str]:
    """A plot of the metric for each node that reported it."""
    dots = list(_dots(run, history, metric))
    if not dots:
        known = sorted({name for each in history for name in each.metrics})
        raise NotAvailable(
            f"{run.name} has no numbers of a metric {metric!r}; it reported "
            f"{', '.join((PROGRESS, *known))}"
        )
    by_step = all(each.step is not None for each in dots)
    for node in dict.fromkeys(each.node for each in dots):
        mine = [each for each in dots if each.node == node]
        over = [(each.step or 0.0) if by_step else each.seconds for each in mine]
        ends = [sentences.number_shown(x) if by_step else _clock(x) for x in (min(over), max(over))]
        title = f"{metric}{f' of {node}' if node else ''}, over {STEP if by_step else 'time'}"
        yield shown.paint(title, "bold")
        points = list(zip(over, (each.value for each in mine), strict=True))
        yield from plot_lines(points, (ends[0], ends[1]), min(shown.width or WIDTH, WIDEST))


def _dots(run: Run, history: Sequence[PastReport], metric: str) -> Iterator[_Dot]:
    for each in history:
        value = (
            each.progress if metric == PROGRESS else sentences.number_of(each.metrics.get(metric))
        )
        if value is not None:
            seconds = _seconds(run, history, each)
            yield _Dot(
                each.node, sentences.number_of(each.metrics.get(STEP)), seconds, float(value)
            )


def _seconds(run: Run, history: Sequence[PastReport], report: PastReport) -> float:
    """From when the run started, where that is known, else from its first report."""
    return sentences.seconds_between(run.started or history[0].time, report.time)


def _clock(seconds: float) -> str:
    """Seconds as `0:12:44`."""
    return str(timedelta(seconds=int(seconds)))


def plot_lines(points: Sequence[Point], ends: tuple[str, str], width: int) -> Iterator[str]:
    """The rows of a plot: the largest and the smallest value beside it, and the ends of its axis below.

    Args:
        points: at least one, finite; joined in this order.
        ends: what to write at the left and the right end of the axis.
        width: characters of a line.
    """
    values = [y for _, y in points]
    labels = [sentences.number_shown(end) for end in (max(values), min(values))]
    margin = max(map(len, labels))
    columns = max(8, width - margin - 2)
    cells = _cells(points, columns)
    for row in range(PLOT_ROWS):
        label = {0: labels[0], PLOT_ROWS - 1: labels[1]}.get(row, "")
        text = "".join(chr(BLANK + cells[row, column]) for column in range(columns))
        yield f"{label:>{margin}} {UP}{text.replace(chr(BLANK), ' ').rstrip()}"
    left, right = ends
    yield f"{'':{margin}} {CORNER}{ALONG * columns}"
    yield f"{'':{margin}}  {left}{right:>{columns - len(left)}}"


def _cells(points: Sequence[Point], columns: int) -> dict[tuple[int, int], int]:
    """Bits of each character, by row and column: the points, joined by straight lines."""
    first, last = min(x for x, _ in points), max(x for x, _ in points)
    low, high = min(y for _, y in points), max(y for _, y in points)
    wide, tall = 2 * columns - 1, 4 * PLOT_ROWS - 1
    placed = [
        (
            round((x - first) / ((last - first) or 1) * wide),
            round((high - y) / ((high - low) or 1) * tall),
        )
        for x, y in points
    ]
    cells: dict[tuple[int, int], int] = defaultdict(int)
    for (x, y), (to_x, to_y) in pairwise((placed[0], *placed)):
        steps = max(abs(to_x - x), abs(to_y - y), 1)
        for step in range(steps + 1):
            dot_x = x + round((to_x - x) * step / steps)
            dot_y = y + round((to_y - y) * step / steps)
            cells[dot_y // 4, dot_x // 2] |= DOTS[dot_y % 4][dot_x % 2]
    return cells
