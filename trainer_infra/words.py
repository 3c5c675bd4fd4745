"""Names in sentences: a list of them, other ones for the same things, and what to do about one that is not known."""

import difflib
import re
from collections.abc import Collection, Iterable, Mapping


def listed(names: Iterable[str], last: str = "", most: int = 0) -> str:
    """Names as a sentence has them.

    Args:
        names: in their order.
        last: stands before the last name: `a, b or c`; without it `a, b, c`.
        most: names that are shown, where it is given: `a, b and 3 more`.
    """
    shown = list(names)
    if most and len(shown) > most:
        shown, last = [*shown[:most], f"{len(shown) - most} more"], "and"
    if not last or not shown[1:]:
        return ", ".join(shown)
    return f"{', '.join(shown[:-1])} {last} {shown[-1]}"


def renamed(sentence: str, names: Mapping[str, str]) -> str:
    """A sentence with the names that its reader writes, `backoff_limit` for `backoffLimit`."""
    return re.sub(r"\w+", lambda word: names.get(word[0], word[0]), sentence)


def did_you_mean(name: object, known: Collection[str], otherwise: str | None = None) -> str:
    """What to do about a name that is not known.

    Args:
        name: what was written.
        known: names that there are, in the order in which a reader looks for them.
        otherwise: what to do where no name is like it; without it all names are shown.
    """
    near = nearest(str(name), known)
    if near:
        return f"did you mean {near[0]}?"
    return f"use {', '.join(known)}" if otherwise is None else otherwise


def nearest(
    name: str, known: Iterable[str], most: int = 1, *, alike: float = 0.6, any_case: bool = False
) -> list[str]:
    """The known names that are most like one, the nearest first.

    Args:
        name: what was written.
        known: names that there are.
        most: how many to answer with.
        alike: how much alike they must be, from 0 to 1, which is the same.
        any_case: whether the case of letters makes no difference.
    """
    if not any_case:
        return difflib.get_close_matches(name, list(known), most, alike)
    as_written = {each.lower(): each for each in known}
    found = difflib.get_close_matches(name.lower(), as_written, most, alike)
    return [as_written[each] for each in found]
