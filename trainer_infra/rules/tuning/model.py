"""Language models by name: which one a config of torchtune or a storage URI names, and its size.

Parameters are those of the published weights (model cards of Llama 3.2, Llama 3.3 and Qwen 2.5).
"""

import re
from dataclasses import dataclass
from typing import Final

from typing_extensions import override

from trainer_infra.render import torchtune

PARAMETERS: Final = {
    torchtune.LLAMA3_2_1B: 1_235_814_400,
    torchtune.LLAMA3_2_3B: 3_212_749_824,
    torchtune.LLAMA3_3_70B: 70_553_706_496,
    torchtune.QWEN2_5_1_5B: 1_543_714_304,
}
"""Weights of the models that the catalog trains, as torchtune names them."""

_NAMED: Final = re.compile(
    r"(llama|qwen)[-_]?(\d)(?:[._]\d)?[-_/](\d{1,3}(?:\.\d)?)b(?![a-z0-9])", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Shape:
    """What two models must have in common for one to be loaded as the other."""

    family: str
    """`llama` or `qwen`."""
    generation: str
    """Its first number: 3.1 and 3.3 are built alike."""
    size: str
    """Billions of parameters, as names have it."""

    @override
    def __str__(self) -> str:
        """As people write it."""
        return f"{self.family.capitalize()} {self.generation} {self.size}B"


def model_shape(text: str) -> Shape | None:
    """The model that a config or a URI names; None where it names none that is known."""
    found = {Shape(*(part.lower() for part in each)) for each in _NAMED.findall(text)}
    return found.pop() if len(found) == 1 else None


def model_parameters(config: str) -> int | None:
    """Weights of the model that a config of torchtune trains; None where they are not known."""
    model, _, _ = config.partition("B_")
    return PARAMETERS.get(f"{model}B")
