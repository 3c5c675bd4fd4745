"""Rules of recovery: what of a run survives a preemption."""

from typing import Final

from trainer_infra.rules.recovery import ending, restarts, signals, values
from trainer_infra.rules.rule import AnyRule

RULES: Final[tuple[AnyRule, ...]] = (
    values.CHECKPOINT_VALUES,
    values.CHECKPOINT_USED,
    ending.TIME_TO_SAVE,
    ending.TORCHRUN_TIME,
    signals.TOLD_TO_END,
    restarts.PREEMPTION_COUNTED,
)
"""In the order in which they are applied and listed."""
