"""Rows in columns as wide as they need to be, or as a terminal allows. Pure.

For every command that lists something. In a pipe a row is one line; a terminal that is too
narrow has some cells below their row, and words folded within others.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from textwrap import wrap
from typing import Final

from trainer_infra.cli.screen import PIPE, Screen

NOTHING: Final = "-"
"""What stands in a cell without a value, so that a script can split a row at blanks."""
GAP: Final = 2
LEAST: Final = 12
"""Characters of a column that is folded; a terminal too narrow for them folds whole lines."""
INDENT: Final = 4


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a table."""

    name: str
    """In its head."""
    optional: bool = False
    """It is left out where every cell is empty."""
    folds: bool = False
    """Its cells may take several lines: they are words, not names that are copied."""
    below: bool = False
    """Its cells may stand below their rows."""
    styles: Mapping[str, str] = field(default_factory=dict)
    """Cell to style."""


def table_lines(
    columns: Sequence[Column], rows: Sequence[Sequence[str]], screen: Screen = PIPE
) -> Iterator[str]:
    """The head and the rows; a row is one line, in a terminal as many as it needs.

    A row has a cell per column; an empty one is shown as `NOTHING`.
    """
    kept = [i for i, each in enumerate(columns) if not each.optional or any(r[i] for r in rows)]
    shown = [columns[i] for i in kept]
    cells = [[" ".join(row[i].splitlines()) or NOTHING for i in kept] for row in rows]
    widths = _widths(shown, cells, screen)
    head = [each.name for each in shown]
    yield from _row(head, widths, ["bold"] * len(head), screen)
    for row in cells:
        styles = [each.styles.get(cell, "") for each, cell in zip(shown, row, strict=True)]
        yield from _row(row, widths, styles, screen)
        for column, cell, width in zip(shown, row, widths, strict=True):
            if not width and cell != NOTHING:
                yield from _below(column, cell, screen)


def fitting_lines(
    columns: Sequence[Column], rows: Sequence[Sequence[str]], screen: Screen, elsewhere: str
) -> Iterator[str]:
    """The columns that there is room for, and a line that names the others and `elsewhere`, how to see them."""
    fitting = _fitting(columns, rows, screen)
    yield from table_lines(columns[:fitting], [row[:fitting] for row in rows], screen)
    if fitting < len(columns):
        left_out = ", ".join(each.name for each in columns[fitting:])
        yield f"no room for {left_out}: {elsewhere}"


def _fitting(columns: Sequence[Column], rows: Sequence[Sequence[str]], screen: Screen) -> int:
    """How many columns there is room for."""
    if screen.width is None:
        return len(columns)
    used = -GAP
    for index, column in enumerate(columns):
        cells = [row[index] for row in rows]
        if column.optional and not any(cells):
            continue
        used += GAP + max(map(len, (column.name, *cells)))
        if used > screen.width:
            return max(index, 1)
    return len(columns)


def _widths(
    columns: Sequence[Column], cells: Sequence[Sequence[str]], screen: Screen
) -> Sequence[int]:
    """The characters of each column; 0 for one that stands below."""
    wanted = [
        max(map(len, row)) for row in zip([each.name for each in columns], *cells, strict=True)
    ]
    if screen.width is None:
        return wanted
    widths = list(wanted)
    for index in reversed(range(len(columns))):
        if _total(widths) > screen.width and columns[index].below:
            widths[index] = 0
    folding = [i for i, each in enumerate(columns) if each.folds and widths[i] > LEAST]
    over = _total(widths) - screen.width
    if over > sum(widths[i] - LEAST for i in folding):
        return widths
    while over > 0:
        widest = max(folding, key=lambda i: widths[i])
        widths[widest] -= 1
        over -= 1
    return widths


def _total(widths: Sequence[int]) -> int:
    shown = [each for each in widths if each]
    return sum(shown) + GAP * (len(shown) - 1)


def _row(
    cells: Sequence[str], widths: Sequence[int], styles: Sequence[str], screen: Screen
) -> Iterator[str]:
    """A row, with as many lines as the cell that is folded most."""
    columns = [
        [(part, width, style) for part in _folded(cell, width)]
        for cell, width, style in zip(cells, widths, styles, strict=True)
        if width
    ]
    for line in zip_longest(*columns):
        parts = [
            part or ("", width, "") for part, width in zip(line, filter(None, widths), strict=True)
        ]
        padded = [
            f"{screen.paint(words, style)}{' ' * (width - len(words))}"
            for words, width, style in parts
        ]
        yield (" " * GAP).join(padded).rstrip()


def _folded(cell: str, width: int) -> Sequence[str]:
    return [cell] if len(cell) <= width else wrap(cell, width, break_on_hyphens=False)


def _below(column: Column, cell: str, screen: Screen) -> Iterator[str]:
    """`    image: python:3.13-slim`, in lists a blank after each comma so that they can be folded."""
    words = re.sub(r",(?=\S)", ", ", cell)
    text, width = f"{column.name.lower()}: {words}", max(LEAST, (screen.width or 0) - INDENT)
    for line in wrap(text, width, break_on_hyphens=False):
        yield f"{' ' * INDENT}{screen.paint(line, 'dim')}"
