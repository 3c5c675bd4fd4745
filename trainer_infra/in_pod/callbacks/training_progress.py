"""What every callback reports, whatever its framework: progress, rate, time to the end, and metrics."""

from __future__ import annotations

import functools
import os
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from trainer_infra.in_pod.report import COMPLETE, FILE, SERVER, report

Hook = TypeVar("Hook", bound="Callable[..., Any]")
WINDOW = 60.0
"""Seconds that a rate is taken over."""
MARKS = 30
"""Points within the window at which it is noted how far the training was."""
LEAST = 5
"""Points that are kept though they are older: steps may take minutes."""


@dataclass(frozen=True)
class _Mark:
    """How far a training was at one moment."""

    at: float
    done: float
    samples: float


class Pace:
    """How fast a training goes: samples per second over a window of time, and how long the rest takes."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, window: float = WINDOW) -> None:
        self._clock = clock
        self._window = window
        self._marks: deque[_Mark] = deque()
        self._now = _Mark(0.0, 0.0, 0.0)

    def begin(self, done: float = 0.0) -> None:
        """Begin to count, with what a checkpoint has done already, as a share from 0 to 1."""
        self._now = _Mark(self._clock(), done, 0.0)
        self._marks = deque([self._now])

    def advance(self, done: float, samples: float) -> None:
        """Count samples since the last call, with the share of the whole that is done: 0 where it is not known."""
        if not self._marks:
            self.begin()
        now = self._now = _Mark(self._clock(), done, self._now.samples + samples)
        if now.at - self._marks[-1].at >= self._window / MARKS:
            self._marks.append(now)
        while len(self._marks) > LEAST and now.at - self._marks[0].at > self._window:
            self._marks.popleft()

    @property
    def samples_per_second(self) -> float | None:
        """Over the window; None before there are any."""
        return self._rate(self._now.samples, self._marks[0].samples) if self._marks else None

    @property
    def remaining(self) -> float | None:
        """Seconds to the end at the window's rate; None where the whole is not known."""
        rate = self._rate(self._now.done, self._marks[0].done) if self._marks else None
        return None if rate is None else max(0.0, 1 - self._now.done) / rate

    def _rate(self, now: float, then: float) -> float | None:
        took = self._now.at - self._marks[0].at
        return (now - then) / took if took > 0 and now > then else None


PAUSE = 1.0
"""Seconds between two readings of what is slow to read, and between two lines where no run takes reports."""
SAMPLES_PER_SECOND = "samples_per_second"
OWN = frozenset(("progress", "remaining"))
"""Names of `report`'s own arguments, which no metric can have."""


def harmless(hook: Hook) -> Hook:
    """The hook of a framework, which says on stderr what went wrong in it: the training goes on."""

    @functools.wraps(hook)
    def guarded(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return hook(self, *args, **kwargs)
        except Exception as error:  # noqa: BLE001  no training fails for want of a report
            if not vars(self).get("_has_complained") and sys.stderr is not None:
                self._has_complained = True
                name = type(self).__name__
                text = (
                    f"trainer_infra.callbacks: {name} did not report, training goes on: {error!r}"
                )
                print(text, file=sys.stderr, flush=True)  # noqa: T201  the user's own log
            return None

    return guarded  # type: ignore[return-value]  # it has the same signature


class TrainingProgress:
    """How far one training is."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._pace = Pace(clock)
        self._due = 0.0
        self._withheld: Mapping[str, Any] = {}

    def begin(self, done: float | None) -> None:
        """Say that it begins, with the share that a checkpoint has done already; None is not known."""
        self._pace.begin(done or 0.0)
        self._withheld = {}
        if done is not None:
            _send(_percent(done), None, {})

    def advance(
        self,
        done: float | None,
        samples: float,
        facts: Mapping[str, Any],
        measured: Callable[[], Mapping[str, Any]] = dict,
    ) -> None:
        """Say how far it is after a step: the share `done` of the whole, 0 to 1, where the whole is known.

        The samples are those of all processes since the last call. Metrics are the facts that are known of each
        step, such as `step`, and what is slow to read: `measured`, asked once a second.
        """
        self._pace.advance(done or 0.0, samples)
        rate = self._pace.samples_per_second
        facts = {**facts, **({} if rate is None else {SAMPLES_PER_SECOND: float(f"{rate:.4g}")})}
        is_due = self._clock() >= self._due
        if is_due:
            self._due = self._clock() + PAUSE
            facts = {**facts, **measured()}
        # A run withholds what comes too often itself, and sends the newest at the end.
        is_sent = is_due or os.environ.get(SERVER) or os.environ.get(FILE)
        self._withheld = {} if is_sent else facts
        if is_sent:
            _send(_percent(done), self._pace.remaining, facts)

    def tell(self, metrics: Mapping[str, Any]) -> None:
        """Say what the framework measured."""
        _send(None, self._pace.remaining, metrics)

    def end(self, metrics: Mapping[str, Any] | None = None) -> None:
        """Say that it is over, and what was measured last."""
        _send(COMPLETE, 0, {**self._withheld, **(metrics or {})})


def _send(progress: float | None, remaining: float | None, metrics: Mapping[str, Any]) -> None:
    named = {str(name): value for name, value in metrics.items() if name not in OWN}
    report(progress, remaining, **named)


def _percent(done: float | None) -> float | None:
    """Under 100 until the framework says that it is over: it may still evaluate and store."""
    return None if done is None else min(COMPLETE - 1, 100 * done + 1e-9)


def batch_size(batch: Any) -> int:
    """The length of the first array in the batch, else of the list that it is; 0 where it has neither.

    A batch is an array, a mapping or a sequence of arrays, or a sequence of samples.
    """
    shape = getattr(batch, "shape", None)
    if shape is not None:
        return int(shape[0]) if len(shape) else 0
    values = batch.values() if isinstance(batch, Mapping) else batch
    if not isinstance(batch, (list, tuple, Mapping)):
        return 0
    found = next((size for each in values if (size := batch_size(each))), 0)
    return found or (0 if isinstance(batch, Mapping) else len(batch))
