"""One thing wrong with a JSON object, while its place is still a path."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from trainer_infra.errors import Problem

Path = tuple[str | int, ...]
"""Field names, map keys and list positions from the object's root."""

QUOTE: Final = "put it in quotes"
"""The advice for a string that was written as a number or a boolean."""
QUOTED: Final = "quoted-strings"
"""The id of the rule that gives it."""


class StandIn(str):
    """A text in place of a value that is not known; nothing is found there."""

    __slots__ = ()


_LONGEST_NAME: Final = 512
"""Characters of a name that are shown: more than any that Kubernetes takes."""
_PLAIN_NAME: Final = re.compile(r"[A-Za-z_][\w-]*", re.ASCII)


@dataclass(frozen=True, slots=True)
class FieldFinding:
    """A problem whose place is still a path of field names, map keys and list positions."""

    path: Path
    what: str
    """What is wrong, a clause without a full stop."""
    got: object = None
    """The offending value; None when there is none to show."""
    fix: str = ""
    """What to do about it; empty when `what` says it."""
    rule: str = field(default="schema", kw_only=True)
    """The id of the rule that it belongs to; `schema` for what a published schema says."""

    def problem(self, where: str) -> Problem:
        """The finding as users see it; `where` is its file or object."""
        return Problem(path_text(self.path), self.what, self.got, self.fix, where)


def is_within(path: Path, places: Iterable[Path]) -> bool:
    """Whether a path is one of some places, or below one."""
    return any(path[: len(each)] == each for each in places)


def path_text(path: Path) -> str:
    """A path as Kubernetes writes it: `spec.env[0].name`, `metadata.labels[a.io/b]`."""
    text = ""
    for part in path:
        if isinstance(part, str) and len(part) > _LONGEST_NAME:
            text += f"[{part[:_LONGEST_NAME]}…]"
        elif isinstance(part, str) and _PLAIN_NAME.fullmatch(part):
            text += f".{part}" if text else part
        else:
            text += f"[{part}]"
    return text
