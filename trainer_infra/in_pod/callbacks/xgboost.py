"""Progress of XGBoost's `train` and `cv`, and of its estimators."""

# mypy: disable-error-code="import-not-found,misc"

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from xgboost import collective
from xgboost.callback import TrainingCallback

from trainer_infra.in_pod.callbacks.training_progress import TrainingProgress, harmless


class XGBoostCallback(TrainingCallback):
    """Reports each boosting round, and the evaluation metrics under XGBoost's names: `train-logloss`.

    Of several workers only the first reports, as XGBoost's collective numbers them.

    Args:
        rounds: `num_boost_round`, which XGBoost does not tell a callback; without it neither progress nor the
            remaining time is known.
        rows: of this worker's training data; those of all workers are taken to be as many. Without it there are
            no samples per second.
    """

    def __init__(self, rounds: int | None = None, rows: int = 0) -> None:
        super().__init__()
        self._rounds = rounds
        self._rows = rows
        self._done = 0
        self._progress = TrainingProgress()

    def before_training(self, model: Any) -> Any:
        """Report that it begins."""
        self._begin()
        return model

    def after_training(self, model: Any) -> Any:
        """Report that it is over."""
        self._end()
        return model

    def after_iteration(
        self, model: Any, epoch: int, evals_log: Mapping[str, Mapping[str, Sequence[Any]]]
    ) -> bool:
        """Report a round; never ends the training."""
        del model, epoch
        self._advance(evals_log)
        return False

    @harmless
    def _begin(self) -> None:
        self._done = 0
        if collective.get_rank() == 0:
            self._progress.begin(0.0 if self._rounds else None)

    @harmless
    def _advance(self, evals_log: Mapping[str, Mapping[str, Sequence[Any]]]) -> None:
        self._done += 1
        if collective.get_rank() != 0:
            return
        facts: dict[str, Any] = {"step": self._done}
        for data, metrics in evals_log.items():
            for name, values in metrics.items():
                # Of `cv` mean and deviation.
                last = values[-1]
                facts[f"{data}-{name}"] = last[0] if isinstance(last, tuple) else last
        done = self._done / self._rounds if self._rounds else None
        self._progress.advance(done, self._rows * collective.get_world_size(), facts)

    @harmless
    def _end(self) -> None:
        if collective.get_rank() == 0:
            self._progress.end()
