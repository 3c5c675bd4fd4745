"""Progress of a training loop of one's own."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

from trainer_infra.in_pod.callbacks.training_progress import TrainingProgress, harmless
from trainer_infra.in_pod.callbacks.training_progress import batch_size as samples_of

Batch = TypeVar("Batch")
VARIABLES = (
    ("RANK", "WORLD_SIZE"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("JAX_PROCESS_ID", "JAX_NUM_PROCESSES"),
    ("JOB_COMPLETION_INDEX", ""),
)
"""Number and count of processes: of torchrun, of Open MPI, of JAX, and the number of the pod alone. The first
that is set counts, for what starts several processes in a pod sets one that is before the pod's."""


class TrainingLoop:
    """Reports the progress of a loop: call `step` after each step.

    Of several processes only the first reports: the one whose number is 0 in RANK, else
    OMPI_COMM_WORLD_RANK, else JAX_PROCESS_ID, else JOB_COMPLETION_INDEX. None of the methods raises.

    Args:
        steps: how many there will be; without it neither progress nor the remaining time is known.
    """

    def __init__(self, steps: int | None = None) -> None:
        self._steps = steps
        self._done = 0
        self._processes = 1
        self._progress: TrainingProgress | None = None
        self._begin()

    @harmless
    def step(self, samples: float = 0, epoch: float | None = None, **metrics: float | str) -> None:
        """Count one step, and report.

        Args:
            samples: of this process in this step; those of all processes are taken to be as many.
            epoch: epochs that are done, for example 1.5.
            metrics: as `report` takes them.
        """
        self._done += 1
        if self._progress is None:
            return
        done = self._done / self._steps if self._steps else None
        facts = {"step": self._done, **({} if epoch is None else {"epoch": epoch}), **metrics}
        self._progress.advance(done, samples * self._processes, facts)

    @harmless
    def end(self, **metrics: float | str) -> None:
        """Report that the training is over, with its last metrics."""
        if self._progress is not None:
            self._progress.end(metrics)

    @harmless
    def _begin(self) -> None:
        number, self._processes = process_of(os.environ)
        if number == 0:
            self._progress = TrainingProgress()
            self._progress.begin(0.0 if self._steps else None)


def steps(
    batches: Iterable[Batch], epochs: int = 1, batch_size: int | None = None
) -> Iterator[Batch]:
    """The batches of every epoch; reports after each how far the training is, as `TrainingLoop` does.

    A step ends when the next batch is taken. After a `break` the training does not count as complete.

    Args:
        batches: for example a DataLoader; iterated once per epoch. Without a length neither progress nor the
            remaining time is known.
        epochs: how many.
        batch_size: samples of a batch; else the length of the first array in it.
    """
    count = _length(batches)
    loop = TrainingLoop(count * epochs if count else None)
    for epoch in range(epochs):
        for number, batch in enumerate(batches, 1):
            yield batch
            part = min(1.0, number / count) if count else 0.0
            samples = samples_of(batch) if batch_size is None else batch_size
            loop.step(samples, round(epoch + part, 4))
    loop.end()


def _length(batches: object) -> int:
    """How many batches there are; 0 where that is not known."""
    try:
        return len(batches)  # type: ignore[arg-type]  # what has no length raises
    except TypeError:
        return 0


def process_of(env: Mapping[str, str]) -> tuple[int, int]:
    """The number of this process, from 0, and how many train; 0 and 1 where no launcher says it.

    Raises:
        ValueError: What the launcher says is not a number.
    """
    for number, count in VARIABLES:
        if env.get(number):
            return int(env[number]), int(env.get(count) or 1)
    return 0, 1
