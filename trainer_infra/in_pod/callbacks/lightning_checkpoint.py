"""Checkpoints of Lightning's Trainer, under either of its names: saved by the Trainer itself."""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import os
import pickle
import tempfile
from pathlib import Path
from typing import Any

import torch

from trainer_infra.in_pod.callbacks.lightning import callback_class
from trainer_infra.in_pod.checkpoints import plain_state, random_state
from trainer_infra.in_pod.checkpoints.folder_state import open_session
from trainer_infra.in_pod.checkpoints.ranks import TorchRanks

FILE = "state.ckpt"
_RANDOM = "random"


class LightningCheckpointCallback(callback_class()):  # type: ignore[misc]  # one of two packages
    """Saves when it is due and when the program is told to end, as `checkpoint=Checkpoint(...)` arranged it.

    An epoch that was begun goes on with the batches that it has not had: those before are read again, unless the
    loader keeps its place itself.

    ```python
    saving = LightningCheckpointCallback()
    trainer = Trainer(callbacks=[saving])
    trainer.fit(module, loader, ckpt_path=saving.resume_from)
    ```
    """

    def __init__(self) -> None:
        if int(os.environ.get("WORLD_SIZE", "1")) > 1 and not torch.distributed.is_initialized():
            # As Lightning would later: the processes choose a checkpoint before.
            torch.distributed.init_process_group()
        # Of the processes of one node.
        below = Path(tempfile.gettempdir()) / f"trainer-infra-checkpoints-{os.getppid()}"
        below.mkdir(exist_ok=True)
        self._session = open_session(str(below))
        self._step = -1
        self._random_of_epoch: Any = None
        self._random_of_now: Any = None
        self._is_epoch_over = False

    @property
    def resume_from(self) -> str | None:
        """The file or folder to resume from; None where there is nothing."""
        found = self._session.resume_from if self._session else None
        return f"{found}/{FILE}" if found else None

    def on_fit_start(self, trainer: Any, pl_module: Any) -> None:
        """Remember the random numbers with which the first epoch is shuffled."""
        del trainer, pl_module
        if self._random_of_now is None:
            self._random_of_epoch = random_state.current()

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        """Leave out the batches that the epoch has had."""
        del pl_module
        if self._random_of_now is None:
            return
        loop = trainer.fit_loop
        loaders = loop._combined_loader.flattened  # noqa: SLF001  it has no other
        if not self._is_epoch_over and not all(map(plain_state.is_stateful, loaders)):
            for _ in range(loop.epoch_loop.batch_progress.current.ready):
                next(loop._data_fetcher.iterator)  # noqa: SLF001  the same
        random_state.restore(self._random_of_now)
        self._random_of_now = None

    def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        """Remember the random numbers with which a later epoch is shuffled."""
        del pl_module
        if trainer.current_epoch > 0:
            self._random_of_epoch = random_state.current()

    def on_train_batch_end(self, trainer: Any, pl_module: Any, *_: Any) -> None:
        """Save what is due, after an optimizer's step; after the last one of an epoch not before its validation."""
        del pl_module
        self._is_epoch_over = trainer.fit_loop.epoch_loop.batch_progress.is_last_batch
        if trainer.global_step != self._step and not self._is_epoch_over:
            self._save(trainer)

    def on_train_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Save what is due."""
        del pl_module
        self._save(trainer)

    def on_validation_batch_end(self, trainer: Any, pl_module: Any, *_: Any) -> None:
        """Save and end in the midst of a validation."""
        del pl_module
        self._save(trainer, is_validation=True)

    def state_dict(self) -> dict[str, Any]:
        """The random numbers of all processes."""
        if self._session is None:
            return {}
        mine = self._is_epoch_over, self._random_of_epoch, random_state.current()
        ranks = self._session.ranks
        every = ranks.gathered(mine) if isinstance(ranks, TorchRanks) else [mine]
        # Lightning reads nothing but tensors and numbers.
        return {_RANDOM: torch.frombuffer(bytearray(pickle.dumps(every)), dtype=torch.uint8)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on with those with which the epoch was shuffled."""
        if self._session is None or not state_dict:
            return
        every = pickle.loads(state_dict[_RANDOM].numpy().tobytes())  # noqa: S301  the run's own place
        if len(every) == self._session.ranks.size:
            mine = every[self._session.ranks.rank]
            self._is_epoch_over, self._random_of_epoch, self._random_of_now = mine
            random_state.restore(mine[2] if self._is_epoch_over else mine[1])

    def _save(self, trainer: Any, *, is_validation: bool = False) -> None:
        if self._session is None:
            return
        step = self._step = trainer.global_step
        must_save, is_last = self._session.must_save(step)
        if is_last and trainer.sanity_checking:
            self._session.end()
        if is_last or (must_save and not is_validation):
            self._session.wait()
            folder = self._session.folder_of(step)
            folder.mkdir(exist_ok=True)
            trainer.save_checkpoint(folder / FILE)
            self._session.save(step, (folder, True))
        if is_last:
            self._session.end()
