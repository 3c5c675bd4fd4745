"""The attempts of a run to come to its end: what its program reported of them.

A program with checkpoints reports them as metrics once its first one was ended (`in_pod.checkpoints.attempts`), so that
they are wherever a run's last report is. They are no metrics of the training, and not shown as such. Pure.
"""

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Final

from trainer_infra.json_values import JSONObject

TOTAL: Final = "attempts.total"
LOST_STEPS: Final = "attempts.lost_steps"
EFFECTIVE: Final = "attempts.effective_percent"
_NAME: Final = re.compile(r"attempts\.(?:total|lost_steps|effective_percent|(?P<number>\d{1,9}))")
_LINE: Final = re.compile(
    r"(?P<began>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z) \+(?P<seconds>\d{1,9})s (?P<first>\d{1,18})\.\.(?P<last>\d{1,18})"
    r"(?: (?P<how>.+))?"
)
OWN_WORDS: Final = {
    "": "ended without a word",
    "ended": "the program ended",
    "told to end": "told to end",
}
"""How an attempt ended, as far as its program could say; others are names of exceptions."""


@dataclass(frozen=True, slots=True)
class PastAttempt:
    """One attempt, from when its program had its state on."""

    number: int
    """From 1 on."""
    began: str
    """RFC 3339, UTC, with parts of a second."""
    ended: str
    """When its last word was, likewise."""
    first: int
    """The step from which it went on."""
    last: int
    """The last step that is known to be done."""
    lost: int = 0
    """Steps of it that the next one made again."""
    how: str = ""
    """How it ended, as its program said; empty where it said nothing, and while it goes on."""
    cause: str = ""
    """What ended it, as far as is known from outside; empty where only the program tells."""

    def why(self) -> str:
        """What ended it, in words."""
        return self.cause or OWN_WORDS.get(self.how, f"the program raised {self.how}")


@dataclass(frozen=True, slots=True)
class Attempts:
    """Those of a run; empty of one whose first attempt goes on or has come to its end, and without checkpoints."""

    total: int = 0
    lost_steps: int = 0
    """Steps that were made again, in all."""
    effective_percent: int = 0
    """The share of the time since the first one began in which steps were made that were not made again."""
    last: tuple[PastAttempt, ...] = ()
    """The last ones, the oldest first."""

    def briefly(self) -> str:
        """`3 attempts, 12 steps lost`; empty of a run with one."""
        steps = "step" if self.lost_steps == 1 else "steps"
        return f"{self.total} attempts, {self.lost_steps} {steps} lost" if self.total > 1 else ""

    def wholly(self) -> str:
        """The same, and the effective training time."""
        kept = f"{self.effective_percent}% of the time went into steps that were kept"
        return f"{self.briefly()}, {kept}" if self.total > 1 else ""


def metrics_of(status: JSONObject) -> dict[str, str]:
    """The metrics of a trainerStatus in wire form, by name, without what it says of attempts."""
    found = {each["name"]: each["value"] for each in status.get("metrics") or ()}
    return {name: each for name, each in found.items() if not _NAME.fullmatch(name)}


def attempts_of(status: JSONObject) -> Attempts:
    """What a trainerStatus in wire form says of attempts; none where it says nothing that can be read."""
    said = {each["name"]: each["value"] for each in status.get("metrics") or ()}
    try:
        total, lost, share = (int(said[name]) for name in (TOTAL, LOST_STEPS, EFFECTIVE))
    except (LookupError, ValueError):
        return Attempts()
    found = sorted(_read(said), key=lambda each: each.number)
    ended = [
        replace(each, lost=max(0, each.last - after.first))
        # One between them may be missing.
        if after.number == each.number + 1
        else each
        for each, after in pairwise(found)
    ]
    return Attempts(total, lost, share, (*ended, *found[-1:]))


def _read(said: Mapping[str, str]) -> list[PastAttempt]:
    found = []
    for name, line in said.items():
        named, read = _NAME.fullmatch(name), _LINE.fullmatch(line)
        if not (named and named["number"] and read):
            continue
        with suppress(ValueError, OverflowError):
            end = datetime.fromisoformat(read["began"]) + timedelta(seconds=int(read["seconds"]))
            ended = end.isoformat(timespec="milliseconds").replace("+00:00", "Z")
            number, first, last = int(named["number"]), int(read["first"]), int(read["last"])
            found.append(
                PastAttempt(number, read["began"], ended, first, last, how=read["how"] or "")
            )
    return found
