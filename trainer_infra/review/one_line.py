"""Text of users as people may safely be shown it. Used by every format; pure.

A name in a pull request may hold anything: what would steer a terminal, hide other text, or be taken
for a command of a CI runner is shown as an escape.
"""

from typing import Final

_JOINERS: Final = "\u200c\u200d"
"""Not printable by themselves, but part of words and of emoji."""
_OLD_COMMAND: Final = "##["
"""Starts a command anywhere in a line of a GitHub runner's log."""


def one_line(text: str) -> str:
    r"""The text on one line; characters that cannot be printed as `\n`, `\x1b`, `\u202e`."""
    shown = text if text.isprintable() else "".join(map(_character, text))
    return shown.replace(_OLD_COMMAND, "##\\x5b")


def cut_line(text: str, limit: int) -> str:
    """The text on one line, at most so many characters and an ellipsis."""
    shown = one_line(text)
    return shown if len(shown) <= limit else f"{shown[:limit]}…"


def _character(each: str) -> str:
    if each.isprintable() or each in _JOINERS:
        return each
    return each.encode("unicode_escape").decode("ascii")
