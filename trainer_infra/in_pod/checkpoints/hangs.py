"""Which rank of a training that makes no step holds up the others. Pure: `hang_watch` reads, `runs.hangs` shows.

Ranks wait for one another in collectives: who is in none while others are is the one, else who left one out.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

PREFIX = "trainer-infra-hang: "
"""Before the line of a log that has the ranks of a pod that hang, as JSON; none when they go on."""
STOPPED, GONE, FINISHED, RUNS, WAITS = "stopped", "gone", "finished", "runs", "waits"
_FRAME = re.compile(r'  File "(?P<path>.*)", line (?P<line>\d+) in (?P<name>.*)')
_THREAD = re.compile(r"(?:Current thread|Thread) 0x([0-9a-f]+)")
_COLLECTIVE = re.compile(
    r"/torch/(?:distributed|autograd|nn|cuda|optim|_\w+)\b|/jax/(?:_src|experimental)/|/jaxlib/|/xgboost/\w+\.py|/mpi4py/"
    r"|/trainer_infra/in_pod/checkpoints/ranks\.py"
)
"""Files in which a process waits for others, or for a device that does."""
_WAITING_CALL = re.compile(
    r"\.(?:wait|item|to|cpu|cuda|tolist|numpy|synchronize|block_until_ready|all_?reduce|all_?gather|bcast|barrier)\(",
    re.IGNORECASE,
)
"""The same, where no file of Python is in between."""
_LIBRARY = re.compile(
    r"/lib/python3|/(?:site|dist)-packages/|^<frozen |/(?:trainer_infra|torch|jax|jaxlib|xgboost|mpi4py|transformers|trl"
    r"|accelerate|lightning|pytorch_lightning|deepspeed|numpy|datasets)/"
)
"""Files that are not the user's."""


class Frame(NamedTuple):
    """A call that goes on."""

    path: str
    line: int
    name: str


@dataclass(frozen=True)
class SilentRank:
    """A process of a training that makes no step."""

    rank: int
    step: int
    """The last one that it has done."""
    seconds: float
    """For which it has been silent."""
    state: str
    """`runs`, `waits`, `stopped`, `gone`, or `finished`: with the training."""
    at: str = ""
    """The user's line, `train.py line 12 in work`; empty where it is not known."""
    collective: str = ""
    """The function in which it waits for others; empty for none."""
    has_left: bool = False
    """Whether it has left the loop in which it made steps."""
    pod: str = ""


def frames_of(dump: str, thread: int) -> list[Frame]:
    """The calls of a thread, the innermost first, in what `faulthandler` wrote; else of the one that wrote it."""
    found: dict[int, list[Frame]] = {}
    current: list[Frame] = []
    for line in dump.splitlines():
        if begun := _THREAD.match(line):
            current = found[int(begun[1], 16)] = []
        elif frame := _FRAME.match(line):
            current.append(Frame(frame["path"], int(frame["line"]), frame["name"]))
    return found.get(thread, current)


def collective_of(frames: Sequence[Frame], line: str) -> str:
    """The function in which a process waits for others; `line` is the text of the innermost call's."""
    if not frames or not _COLLECTIVE.search(frames[0].path):
        found = _WAITING_CALL.search(line)
        is_own = found and not _LIBRARY.search(frames[0].path)
        return found[0].strip(".(") if found and is_own else ""
    user = (at for at, each in enumerate(frames) if not _LIBRARY.search(each.path))
    inner = [each.name for each in frames[: next(user, len(frames))]]
    # Of calls from one library to another the outermost one has the name that users know.
    known = [each for each in inner if each[0] not in "_<" and each != "wrapper"]
    return known[-1] if known else frames[0].name


def place_of(frames: Sequence[Frame]) -> str:
    """The user's line that a process is at; where there is none that of a library."""
    own = (each for each in frames if not _LIBRARY.search(each.path))
    found = next(own, frames[0] if frames else None)
    return f"{found.path.rpartition('/')[2]} line {found.line} in {found.name}" if found else ""


def has_left(frames: Sequence[Frame], path: str, line: int, source: str) -> bool:
    """Whether a process has left the innermost loop around a line of a file, from which it made its steps.

    Raises:
        SyntaxError, ValueError: The file is none of Python.
    """
    loops = [
        (each.lineno, each.end_lineno or 0)
        for each in ast.walk(ast.parse(source))
        if isinstance(each, (ast.For, ast.While)) and each.lineno <= line <= (each.end_lineno or 0)
    ]
    begin, end = max(loops, default=(0, 0))
    is_in = any(each.path == path and begin <= each.line <= end for each in frames)
    return bool(loops and frames) and not is_in


def to_blame(ranks: Sequence[SilentRank]) -> Sequence[SilentRank]:
    """Those that hold up the others, of all that are silent; all of them where nothing tells."""
    places = Counter((each.at, each.collective) for each in ranks)
    alone = [each for each in ranks if places[each.at, each.collective] == 1]
    last = max(each.step for each in ranks)
    ahead = [each for each in ranks if each.step == last]
    for found in (
        [each for each in ranks if each.state in (STOPPED, GONE, FINISHED)],
        [each for each in ranks if not each.collective],
        [each for each in ranks if each.has_left],
        alone if len(alone) == 1 else [],
        # Who leaves a collective out is the first at the next one.
        ahead if 2 * len(ahead) <= len(ranks) else [],
    ):
        if 0 < len(found) < len(ranks):
            return found
    return ranks


def sentence(ranks: Sequence[SilentRank], time: str) -> str:
    """Which of them hold up the others, for how long, as a person reads it, and where they are."""
    found = to_blame(ranks)
    who = [f"rank {each.rank}" + f" (pod {each.pod})" * bool(each.pod) for each in found]
    steps = sorted({each.step for each in found})
    since = f"step {steps[0]}" if len(steps) == 1 else f"steps {steps[0]} to {steps[-1]}"
    names = who if found[1:] else ["it"]
    where = "; ".join(f"{name} {_doing(each)}" for name, each in zip(names, found))
    many = f"all {len(ranks)} ranks" if len(found) == len(ranks) else " and ".join(who)
    return f"{many if found[1:] else who[0]} made no step for {time}, since {since}: {where}"


def _doing(each: SilentRank) -> str:
    if each.collective:
        left = "left the loop of its steps and " * each.has_left
        what = f"{left}waits for other ranks in {each.collective}"
    else:
        what = {
            STOPPED: "is stopped",
            GONE: "is gone",
            FINISHED: "has ended its program",
            RUNS: "goes on computing",
        }.get(each.state, "sleeps or is blocked")
    return what + (f", at {each.at}" if each.at else "")
