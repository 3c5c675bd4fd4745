"""Numbers over others as a small plot of braille dots, for a terminal as for a pipe. Pure.

One character has two dots beside each other, and four on top of each other.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from trainer_infra.runs import sentences

DOTS: Final = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
"""Bits of a braille character's dots, by row and column."""
BLANK: Final = 0x2800
"""The braille character without dots."""
ROWS: Final = 15
"""Lines of a plot without its axis."""
UP, CORNER, ALONG = "\u2502\u2514\u2500"
"""The axes."""
Point = tuple[float, float]


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
    for row in range(ROWS):
        label = {0: labels[0], ROWS - 1: labels[1]}.get(row, "")
        text = "".join(chr(BLANK + cells[row, column]) for column in range(columns))
        yield f"{label:>{margin}} {UP}{text.replace(chr(BLANK), ' ').rstrip()}"
    left, right = ends
    yield f"{'':{margin}} {CORNER}{ALONG * columns}"
    yield f"{'':{margin}}  {left}{right:>{columns - len(left)}}"


def _cells(points: Sequence[Point], columns: int) -> dict[tuple[int, int], int]:
    """Bits of each character, by row and column: the points, joined by straight lines."""
    first, last = min(x for x, _ in points), max(x for x, _ in points)
    low, high = min(y for _, y in points), max(y for _, y in points)
    wide, tall = 2 * columns - 1, 4 * ROWS - 1
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
