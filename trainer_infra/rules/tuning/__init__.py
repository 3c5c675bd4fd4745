"""Rules of fine-tuning: models, methods and the memory that they need."""

from typing import Final

from trainer_infra.rules.rule import AnyRule
from trainer_infra.rules.tuning import gpu_memory, torchtune

RULES: Final[tuple[AnyRule, ...]] = (
    torchtune.LORA_NODES,
    torchtune.MODEL_MATCHES_RUNTIME,
    gpu_memory.RULE,
)
"""In the order in which they are applied and listed."""
