"""Rows in columns as wide as they need to be. Called by every command that lists something. Pure."""

from collections.abc import Collection, Iterator, Sequence

NOTHING = "-"
"""What stands in a cell without a value, so that a script can split a row at blanks."""


def lines(
    columns: Sequence[str], rows: Sequence[Sequence[str]], optional: Collection[str] = ()
) -> Iterator[str]:
    """The head and the rows, a line each.

    Args:
        columns: the names of the columns.
        rows: one cell per column; an empty one is shown as `NOTHING`.
        optional: columns that are left out where every cell is empty.
    """
    kept = [
        index
        for index, name in enumerate(columns)
        if name not in optional or any(row[index] for row in rows)
    ]
    cells = [[row[index] or NOTHING for index in kept] for row in (columns, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        padded = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield "  ".join(padded).rstrip()
