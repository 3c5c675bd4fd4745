"""What a container that trains has torchtune do, read from its command line.

The command is `tune run`, options of torchrun, the recipe, `--config <model>_<method>`, and items
that override those of the config (torchtune 0.6 documentation, "Command line interface").
"""

import itertools
import re
from dataclasses import dataclass
from typing import Final

from trainer_infra import names
from trainer_infra.rules.value import Value

_RECIPE: Final = re.compile(r"(\w*_)?(finetune|dpo)_(\w+)")
_CONFIG: Final = "--config"
_LORA_ITEM: Final = "model.lora_attn_modules"
_QUANTIZED: Final = "model.quantize_base=true"


@dataclass(frozen=True, slots=True)
class Recipe:
    """What torchtune does."""

    name: str
    """The recipe, `full_finetune_distributed`."""
    config: str
    """The config, `llama3_2/1B_full`; empty where none is named."""
    words: tuple[str, ...]
    """The whole command line."""

    @property
    def is_lora(self) -> bool:
        """Whether it trains adapters: LoRA, QLoRA or DoRA."""
        return "lora" in self.name or any(each.startswith(_LORA_ITEM) for each in self.words)

    @property
    def is_quantized(self) -> bool:
        """Whether the weights that stay as they are have 4 bits: QLoRA."""
        return "qlora" in self.config or any(each.lower() == _QUANTIZED for each in self.words)

    @property
    def is_single_device(self) -> bool:
        """Whether it runs on one GPU, whatever there is."""
        return self.name.endswith("_single_device")

    def overrides(self, *items: str) -> bool:
        """Whether one of these items of the config, or something below it, is set."""
        starts = tuple(f"{each}{end}" for each in items for end in ("=", "."))
        return any(each.startswith(starts) for each in self.words)

    def setting(self, item: str) -> str:
        """What an item of the config is set to, in small letters; empty where it is not set."""
        pairs = (each.partition("=") for each in self.words)
        return next((value.lower() for key, _, value in pairs if key == item), "")


def recipe_of(container: Value) -> Recipe | None:
    """What a container has torchtune do; None where it runs something else.

    Raises:
        UnseenValue: A word of it is not known.
    """
    words = tuple(
        each.text()
        for key in ("command", "args")
        if container[key].is_there()
        for each in container[key].items()
    )
    name = next((each for each in words if _RECIPE.fullmatch(each)), "")
    if words[:2] != names.TUNE_RUN or not name:
        return None
    after = (value for key, value in itertools.pairwise(words) if key == _CONFIG)
    return Recipe(name, next(after, ""), words)
