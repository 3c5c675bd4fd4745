"""Rules of recovery: what of a run survives a preemption."""

from typing import Final

from trainer_infra.rules.recovery import ending, restarts, saving, signals
from trainer_infra.rules.rule import AnyRule

RULES: Final[tuple[AnyRule, ...]] = (
    saving.CHECKPOINT_VALUES,
    ending.TIME_TO_SAVE,
    ending.TIME_OF_QUEUED_PODS,
    signals.EXIT_ON_SIGTERM,
    restarts.PREEMPTION_COUNTED,
)
"""In the order in which they are applied and listed."""
