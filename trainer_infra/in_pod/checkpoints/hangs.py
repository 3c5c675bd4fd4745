"""Which rank of a training that makes no step holds up the others. Pure: `hang_watch` reads, `runs.hangs` shows.

Ranks wait for one another in collectives: who is in none while others are is the one, else who left one out.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

PREFIX = "trainer-infra-hang: "
"""Before the line of a log that has the ranks of a pod that hang, as JSON; none when they go on."""
STOPPED, GONE, FINISHED = "stopped", "gone", "finished"
RUNS, WAITS = "runs", "waits"
BUSY = 0.2
"""Share of a processor from which on a process computes."""
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


@dataclass(frozen=True)
class Frame:
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
    """The calls of a thread, the innermost first, in what `faulthandler` wrote; of the one that wrote it otherwise."""
    found: dict[int, list[Frame]] = {}
    current: list[Frame] = []
    for line in dump.splitlines():
        if begun := _THREAD.match(line):
            current = found[int(begun[1], 16)] = []
        elif frame := _FRAME.match(line):
            current.append(Frame(frame["path"], int(frame["line"]), frame["name"]))
    return found.get(thread, current)


def collective_of(frames: Sequence[Frame], line: str) -> str:
    """The function in which a process waits for others; `line` is the text of the innermost one's."""
    own = next((each for each in frames if not each.path.startswith("<frozen ")), None)
    if own is None:
        return ""
    if _COLLECTIVE.search(own.path):
        user = (at for at, each in enumerate(frames) if not _LIBRARY.search(each.path))
        inner = [each.name for each in frames[: next(user, len(frames))]]
        # Of calls from one library to another the outermost one has the name that users know.
        known = [each for each in inner if each[0] not in "_<" and each != "wrapper"]
        return known[-1] if known else own.name
    found = None if _LIBRARY.search(own.path) else _WAITING_CALL.search(line)
    return found[0].strip(".(") if found else ""


def place_of(frames: Sequence[Frame]) -> str:
    """The user's line that a process is at; where there is none that of a library."""
    own = (each for each in frames if not _LIBRARY.search(each.path))
    found = next(own, frames[0] if frames else None)
    return f"{found.path.rpartition('/')[2]} line {found.line} in {found.name}" if found else ""


def has_left(frames: Sequence[Frame], path: str, line: int, source: str) -> bool:
    """Whether a process has left the innermost loop around a line of a file, from which it made its steps."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return False
    loops = [
        (each.lineno, each.end_lineno or each.lineno)
        for each in ast.walk(tree)
        if isinstance(each, (ast.For, ast.While)) and each.lineno <= line <= (each.end_lineno or 0)
    ]
    if not loops or not frames:
        return False
    begin, end = max(loops)
    return not any(each.path == path and begin <= each.line <= end for each in frames)


def to_blame(ranks: Sequence[SilentRank]) -> list[SilentRank]:
    """Those that hold up the others, of all that are silent; all of them where nothing tells."""
    stopped = [each for each in ranks if each.state in (STOPPED, GONE, FINISHED)]
    apart = [each for each in ranks if not each.collective]
    left = [each for each in ranks if each.has_left]
    places = Counter((each.at, each.collective) for each in ranks)
    alone = [each for each in ranks if places[each.at, each.collective] == 1]
    last = max((each.step for each in ranks), default=0)
    ahead = [each for each in ranks if each.step == last]
    for found, is_known in (
        (stopped, True),
        (apart, True),
        (left, True),
        (alone, len(alone) == 1),
        # Who leaves a collective out is the first at the next one.
        (ahead, 2 * len(ahead) <= len(ranks)),
    ):
        if found and is_known and len(found) < len(ranks):
            return found
    return list(ranks)


def sentence(ranks: Sequence[SilentRank], time: str) -> str:
    """Which of them hold up the others, since when, and where they are; the time is theirs as a person reads it."""
    found = to_blame(ranks)
    if len(found) > 1 and len(found) == len(ranks):
        who, verb = f"all {len(ranks)} ranks", "have"
    else:
        who, verb = " and ".join(map(_named, found)), "have" if found[1:] else "has"
    steps = sorted({each.step for each in found})
    since = (
        f"since step {steps[0]}" if len(steps) == 1 else f"since steps {steps[0]} to {steps[-1]}"
    )
    where = dict.fromkeys(map(_where, found))
    return f"{who} {verb} made no step for {time}, {since}: {'; '.join(where)}"


def _named(each: SilentRank) -> str:
    return f"rank {each.rank}" + (f" (pod {each.pod})" if each.pod else "")


def _where(each: SilentRank) -> str:
    at = f", at {each.at}" if each.at else ""
    if each.state == STOPPED:
        return "its process is stopped"
    if each.state == GONE:
        return "its process is gone"
    if each.state == FINISHED:
        return "its program has ended, and the others wait for it"
    if each.has_left:
        return f"it has left the loop of its steps and waits{at}"
    if each.collective:
        return f"it waits for other ranks in {each.collective}{at}"
    return f"it goes on computing{at}" if each.state == RUNS else f"it sleeps or is blocked{at}"
