"""Where a command's result goes: a terminal with a width and colours, or a pipe with neither; and its question.

For every command that shows tables. `NO_COLOR` and `TERM=dumb` leave colours out.
"""

import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

import typer

PHASES: Final[Mapping[str, str]] = {
    "Running": "cyan",
    "Complete": "green",
    "Succeeded": "green",
    "Failed": "bold red",
    "Lost": "bold red",
    "Suspended": "yellow",
}
"""The style of a phase, of a run or a pod; others have none."""


@dataclass(frozen=True, slots=True)
class Screen:
    """What lines are made for."""

    width: int | None = None
    """Columns of the terminal; None elsewhere, where a row is one line however long."""
    colour: bool = False

    def paint(self, words: str, style: str) -> str:
        """Words in a style of rich, where there are colours."""
        if not self.colour or not style:
            return words
        from rich.color import ColorSystem  # noqa: PLC0415  only where it is seen
        from rich.style import Style  # noqa: PLC0415  the same

        return Style.parse(style).render(words, color_system=ColorSystem.STANDARD)

    def indented(self, columns: int) -> "Screen":
        """The same for lines that are moved to the right."""
        return self if self.width is None else replace(self, width=self.width - columns)


PIPE: Final = Screen()


def screen_of_stdout() -> Screen:
    """What stdout is."""
    if not sys.stdout.isatty():
        return PIPE
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return Screen(shutil.get_terminal_size().columns, not plain)


def is_confirmed(count: int, *, confirmed: bool) -> bool:
    """Whether so many things are to be deleted: the user is asked who has not confirmed it."""
    if confirmed or typer.confirm(f"Delete {count}?"):
        return True
    typer.echo("nothing is deleted")
    return False
