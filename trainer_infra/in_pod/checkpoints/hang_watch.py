"""Whether the training of a pod goes on, seen from the pod's first process, by what its processes leave (`beats`).

A training that saves or restores does not hang. Ranks take part in these together, whichever pod they are in.
"""

from __future__ import annotations

import json
import linecache
import math
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from trainer_infra.in_pod.checkpoints import beats, hangs
from trainer_infra.in_pod.checkpoints.beats import Beat
from trainer_infra.in_pod.checkpoints.hangs import SilentRank

LONGEST = 5.0
"""Seconds from one look to the next, where `hang_after` is longer than ten of them."""
AGAIN = 60.0
"""Seconds after which a hang is said again: what else is printed must not hide it."""
PATIENCE = 30.0
"""Seconds in which processes write their stacks, on a machine that is busy."""
BUSY = 0.2
"""Share of a processor from which on a process computes."""
MEMORY = "/dev/shm"  # noqa: S108  a folder of a name of its own is made in it
_STATES = {
    "T": hangs.STOPPED,
    "t": hangs.STOPPED,
    "Z": hangs.GONE,
    "X": hangs.GONE,
    "R": hangs.RUNS,
}


@dataclass(frozen=True)
class _Seen:
    """What was seen of a rank."""

    beat: Beat
    ticks: int
    """Of the processor, when it was new."""
    at: float
    silent: float = 0.0
    """Seconds for which it has been watched since, without another one."""


class HangWatch:
    """A thread that looks, and says it when a rank has been silent for too long."""

    def __init__(self, after: float, *, restarts: bool) -> None:
        self._after, self._restarts = after, restarts
        self._folder = Path(tempfile.mkdtemp(dir=MEMORY if os.access(MEMORY, os.W_OK) else None))
        self._seen: dict[int, _Seen] = {}
        self._dumps: Mapping[int, str] = {}
        self._said: list[SilentRank] = []
        self._said_at, self._judged_at = 0.0, -math.inf
        self._is_over = threading.Event()
        self.variables: Mapping[str, str] = {beats.FOLDER: str(self._folder)}
        """By which the program's processes leave what is looked at."""

    def begin(self, child: int, is_told: Callable[[], bool]) -> None:
        """Watch a program, until it is told to end."""
        threading.Thread(target=self._watch, args=(child, is_told), daemon=True).start()

    def end(self) -> None:
        """Look no more."""
        self._is_over.set()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _watch(self, child: int, is_told: Callable[[], bool]) -> None:
        pause, looked = min(LONGEST, self._after / 10), time.monotonic()
        while not self._is_over.wait(pause) and not is_told():
            now = time.monotonic()
            # All of the pod may have stood still meanwhile.
            self._look(min(pause, now - looked))
            looked = now
            if self._said:
                self._say_again()
            elif (hung := self._hung()) and not is_told():
                self._say(hung)
                if self._restarts:
                    self._kill(child)
                    return

    def _look(self, passed: float) -> None:
        for path in self._folder.glob("rank-*"):
            with suppress(OSError):
                rank, beat = int(path.name[5:]), beats.read_beat(path)
                known = self._seen.get(rank)
                if known and beat == known.beat:
                    self._seen[rank] = replace(known, silent=known.silent + passed)
                else:
                    self._seen[rank] = _Seen(beat, _process(beat.pid)[1], time.monotonic())

    def _hung(self) -> list[SilentRank]:
        """The ranks that make no step, if one has been silent for too long and none saves or restores."""
        seen, now = self._seen.values(), time.monotonic()
        is_safe = any(each.beat.phase in (beats.SAVES, beats.RESTORES) for each in seen)
        late = [e for e in seen if e.beat.phase == beats.TRAINS and e.silent >= self._after]
        if is_safe or not late or now - self._judged_at < self._after:
            return []
        self._judged_at, half = now, self._after / 2
        silent = {
            rank: each
            for rank, each in self._seen.items()
            if each.silent > half or each.beat.phase == beats.ENDED
        }
        self._dumps = _dumped([each.beat for each in silent.values()], self._folder)
        found = [self._judged(rank, each) for rank, each in silent.items()]
        alive = [each for each in found if each.state not in (hangs.GONE, hangs.FINISHED)]
        # Those for whom they wait have gone when they fell silent, not long before.
        begun = max((each.seconds for each in alive), default=0.0) + half
        left = [each for each in found if each not in alive and each.seconds < begun]
        if any(each.state == hangs.FINISHED for each in left):
            # After the last step a program may do for long what needs no other rank.
            alive = alive if all(each.collective for each in alive) else []
        return [*alive, *left] if alive else []

    def _judged(self, rank: int, seen: _Seen) -> SilentRank:
        beat, (state, ticks) = seen.beat, _process(seen.beat.pid)
        frames = hangs.frames_of(self._dumps.get(beat.pid, ""), beat.thread)
        is_finished = any(f.name == "_shutdown" and f.path.endswith("threading.py") for f in frames)
        if is_finished or beat.phase == beats.ENDED:
            state = hangs.FINISHED
        elif not state:
            share = (ticks - seen.ticks) / os.sysconf("SC_CLK_TCK") / (time.monotonic() - seen.at)
            state = hangs.RUNS if share > BUSY else hangs.WAITS
        line = linecache.getline(frames[0].path, frames[0].line) if frames else ""
        collective, has_left = hangs.collective_of(frames, line), False
        with suppress(OSError, ValueError, SyntaxError, RecursionError):
            text = (self._folder / beats.LOOP.format(beat.pid)).read_text(encoding="utf-8")
            at, _, path = text.partition(" ")
            source = Path(path).read_text(encoding="utf-8")
            has_left = hangs.has_left(frames, path, int(at), source)
        silent, place = round(seen.silent, 1), hangs.place_of(frames)
        return SilentRank(rank, beat.step, silent, state, place, collective, has_left)

    def _say(self, hung: list[SilentRank]) -> None:
        self._said, self._said_at = hung, time.monotonic()
        why = hangs.sentence(hung, f"{max(each.seconds for each in hung):.0f} s")
        said = [f"trainer_infra.checkpoint: {why}"]
        for each in hung:
            pid = self._seen[each.rank].beat.pid
            stacks = self._dumps.get(pid) or f"  it is {each.state} and writes no stacks"
            said += [f"rank {each.rank}, process {pid}, after step {each.step}:", stacks.rstrip()]
        if self._restarts:
            said += [
                "on_hang='restart': the pod ends, and the run goes on from its last checkpoint"
            ]
            with suppress(OSError, KeyError):
                # A kubelet reads it when the container has ended.
                Path(os.environ["TRAINER_INFRA_REPORT"]).write_text(f"it hung: {why}", "utf-8")
        _print(*said, *(() if self._restarts else (_line(hung),)))

    def _say_again(self) -> None:
        now = {each.rank: self._seen[each.rank].silent for each in self._said}
        if any(now[each.rank] < each.seconds for each in self._said):
            self._said, self._judged_at = [], -math.inf
            _print("trainer_infra.checkpoint: the training goes on", _line([]))
        elif time.monotonic() - self._said_at > AGAIN:
            self._said = [replace(each, seconds=round(now[each.rank], 1)) for each in self._said]
            self._said_at = time.monotonic()
            _print(_line(self._said))

    def _kill(self, child: int) -> None:
        with suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        for each in self._seen.values():
            # torchrun's workers are in groups of their own.
            _send(each.beat.pid, signal.SIGKILL, self._folder)


def watch_of(arranged: str) -> HangWatch | None:
    """The watch that the text of a checkpoint's variable asks for.

    Raises:
        OSError: There is no folder that can be written.
    """
    said = json.loads(arranged)
    after = said.get("hang_seconds")
    return HangWatch(after, restarts=said.get("on_hang") == "restart") if after else None


def _dumped(of: Iterable[Beat], folder: Path) -> Mapping[int, str]:
    """The stacks of processes that can write them, by process."""
    begun: dict[int, int] = {}
    for each in of:
        if each.signal and _process(each.pid)[0] not in (hangs.STOPPED, hangs.GONE):
            with suppress(OSError):
                begun[each.pid] = (folder / beats.STACKS.format(each.pid)).stat().st_size
                _send(each.pid, each.signal, folder)
    until, found, before = time.monotonic() + PATIENCE, dict.fromkeys(begun, ""), None
    while time.monotonic() < until and not (found == before and all(found.values())):
        time.sleep(0.2)
        before = found
        with suppress(OSError):
            stacks = {pid: (folder / beats.STACKS.format(pid)).read_bytes() for pid in begun}
            found = {
                pid: text[begun[pid] :].decode(errors="replace") for pid, text in stacks.items()
            }
    return found


def _send(pid: int, number: int, folder: Path) -> None:
    """Send a signal to a process of this training, not to a later one that has its number."""
    with suppress(OSError):
        if str(folder).encode() in Path(f"/proc/{pid}/environ").read_bytes():
            os.kill(pid, number)


def _process(pid: int) -> tuple[str, int]:
    """The state of a process, empty while it waits, and what it has used of the processor, in ticks."""
    try:
        said = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return (hangs.GONE if Path("/proc/self").is_dir() else ""), 0
    fields = said.rpartition(")")[2].split()
    return _STATES.get(fields[0], ""), int(fields[11]) + int(fields[12])


def _line(hung: list[SilentRank]) -> str:
    return f"{hangs.PREFIX}{json.dumps([asdict(each) for each in hung])}"


def _print(*lines: str) -> None:
    # One write, so that nothing stands in between.
    sys.stderr.write("".join(f"{each}\n" for each in lines))
    sys.stderr.flush()
