"""LoRA of a fine-tuning: the adapters that are trained in place of the whole model.

The names are those of PEFT. Each trainer says which options of its program they are. Hu et al. 2021,
arXiv 2106.09685; DoRA: Liu et al. 2024, arXiv 2402.09353; QLoRA: Dettmers et al. 2023, arXiv 2305.14314.
"""

import difflib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, TypedDict

from trainer_infra.errors import Problem
from trainer_infra.trainers.input import Input


class LoraArgs(TypedDict, total=False):
    """Adapters of low rank beside the weights of a model."""

    r: Input[int]
    """Rank of the adapters."""
    lora_alpha: Input[int]
    """Scale of the adapters: their output is multiplied by `lora_alpha / r`."""
    lora_dropout: Input[float]
    """Part of the adapters' input that a training step leaves out, 0 to 1."""
    target_modules: Input[Sequence[Input[str]]]
    """Names of the layers that get adapters, such as `q_proj`."""
    use_dora: Input[bool]
    """Whether each adapter also learns the size of its weights (DoRA)."""
    quantize: Input[Literal["4bit", "8bit"]]
    """Holds the frozen weights in so many bits (QLoRA). Needs a GPU."""


QUANTIZED = ("4bit", "8bit")


def lora_problems(lora: Any) -> Iterator[Problem]:
    """What is wrong with the mapping itself; its values are judged as options of the program."""
    if lora is None:
        return
    known = LoraArgs.__annotations__
    if not isinstance(lora, Mapping):
        yield Problem("lora", "must be a mapping", got=lora, fix='give {"r": 8}')
        return
    for name in lora:
        if name not in known:
            near = difflib.get_close_matches(str(name), known, 1)
            fix = f"did you mean {near[0]}?" if near else f"use {', '.join(known)}"
            yield Problem(f"lora.{name}", "is not known", fix=fix)
    quantize = lora.get("quantize")
    if quantize is not None and quantize not in QUANTIZED:
        fix = f"use {' or '.join(QUANTIZED)}"
        yield Problem("lora.quantize", "is no such precision", got=quantize, fix=fix)
