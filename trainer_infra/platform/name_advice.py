"""What to do about a name that is none of those that are known."""

import difflib
from collections.abc import Collection


def did_you_mean(name: object, known: Collection[str]) -> str:
    """What to do about a name that is none of those."""
    close = difflib.get_close_matches(str(name), known, n=1)
    return f"did you mean {close[0]}?" if close else f"use {', '.join(known)}"
