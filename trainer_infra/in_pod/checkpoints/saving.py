"""A checkpoint that is being written while the training goes on."""

from __future__ import annotations

import contextlib
import threading
import time
from dataclasses import replace

from trainer_infra.in_pod.checkpoints.log import say
from trainer_infra.in_pod.checkpoints.one_checkpoint import PATIENCE, Writing
from trainer_infra.in_pod.checkpoints.snapshot import Copy


class SaveInFlight(threading.Thread):
    """Writes one; what goes wrong ends it, not the training, and is said.

    It is no daemon: an interpreter that ends waits for it.
    """

    def __init__(self, copy: Copy, writing: Writing, keep: int, limit: float | None) -> None:
        super().__init__(name=f"checkpoint-{writing.whole.step}")
        self._copy = copy
        self._writing = writing
        self._keep = keep
        self._limit = limit
        self.is_done = False
        """Whether it is written, as far as this process knows: the first one knows of all."""

    @property
    def step(self) -> int:
        """Of the checkpoint."""
        return self._writing.whole.step

    def run(self) -> None:  # type: ignore[explicit-override]  # Python 3.9 has no such decorator
        """Write it."""
        began = time.monotonic()
        try:
            self._write()
        except Exception as error:  # noqa: BLE001  whatever it is, the training goes on
            self._give_up(error)
            return
        finally:
            del self._copy
        self.is_done = True
        took = time.monotonic() - began
        if self._limit is not None and took > self._limit:
            say(
                f"the checkpoint of step {self.step} took {took:.0f} s, and save_seconds is {self._limit:g}: when the "
                "run is to end, there may not be the time for one"
            )

    def _write(self) -> None:
        writing, shelf = self._writing, self._writing.shelf
        writing.seal(self._copy.write(writing))
        if writing.rank:
            return
        stored = writing.wait(max(PATIENCE, 2 * (self._limit or 0)))
        whole = replace(writing.whole, more=self._copy.finish(writing, stored))
        shelf.write_object(whole.mark, vars(whole))
        try:
            shelf.tidy(self._keep, whole)
        except OSError as error:
            say(f"checkpoints before that of step {self.step} could not be removed: {error}")

    def _give_up(self, error: Exception) -> None:
        shelf, why = self._writing.shelf, str(error) or repr(error)
        with contextlib.suppress(OSError):
            self._writing.fail(why)
        newest = "there is no whole one"
        with contextlib.suppress(OSError):
            if steps := shelf.whole_steps():
                newest = f"the newest whole one is that of step {steps[0]}"
        say(
            f"the checkpoint of step {self.step} could not be written to {shelf.address}: {why}. The training goes on; "
            f"{newest}"
        )
