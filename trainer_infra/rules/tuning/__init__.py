"""Rules of fine-tuning: models, methods and the memory that they need."""

from typing import Final

from trainer_infra.rules.rule import AnyRule
from trainer_infra.rules.tuning import gpu_memory, lora_nodes, model_matches_runtime

RULES: Final[tuple[AnyRule, ...]] = (lora_nodes.RULE, model_matches_runtime.RULE, gpu_memory.RULE)
"""In the order in which they are applied and listed."""
