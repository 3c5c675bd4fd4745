"""What trainers of language models have in common, LoRA above all: adapters in place of the whole model.

Called by `llama_factory`, `torchtune`, `trl` and `unsloth`, each of which says what options of its program they
are. The names of LoRA are those of PEFT. Hu et al. 2021, arXiv 2106.09685; DoRA: Liu et al. 2024, arXiv 2402.09353;
QLoRA: Dettmers et al. 2023, arXiv 2305.14314.
"""

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypedDict

from trainer_infra.errors import Problem
from trainer_infra.trainers.input import Input
from trainer_infra.trainers.libraries.library_program import ProgramSetting
from trainer_infra.trainers.pods.pod_arguments import PythonPodArguments


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
    """Holds the frozen weights in so many bits (QLoRA). Needs a GPU. torchtune and Unsloth know 4bit."""


QUANTIZED: Final = ("4bit", "8bit")


@dataclass(frozen=True, slots=True, kw_only=True)
class FineTuningArguments(PythonPodArguments):
    """What every trainer of a language model takes."""

    model: Input[str] = "/workspace/model"
    """A folder, where an initializer put it, or a name on the Hub."""
    output: Input[str] = "output://model"
    """Where the trained model or adapter is written: an output of the run, or a folder."""
    lora: Input[LoraArgs | None] = None
    """Trains adapters in place of the whole model."""
    options: Input[Mapping[str, Any] | None] = None
    """Other options of the library's program by name, such as `{"learning_rate": 2e-4, "max_steps": 100}`."""


def lora_problems(lora: Any, quantized: Sequence[str] = QUANTIZED) -> Iterator[Problem]:
    """What is wrong with the mapping itself; its values are judged as options of the program.

    Args:
        lora: as it was given.
        quantized: what `quantize` may be with the trainer.
    """
    if lora is None:
        return
    known = LoraArgs.__annotations__
    if not isinstance(lora, Mapping):
        yield Problem("lora", "must be a mapping", lora, 'give {"r": 8}', independent=True)
        return
    for name in lora:
        if name not in known:
            near = difflib.get_close_matches(str(name), known, 1)
            fix = f"did you mean {near[0]}?" if near else f"use {', '.join(known)}"
            yield Problem(f"lora.{name}", "is not known", fix=fix, independent=True)
    quantize = lora.get("quantize")
    if quantize is not None and quantize not in quantized:
        fix = f"use {' or '.join(quantized)}"
        yield Problem("lora.quantize", "is no such precision", quantize, fix, independent=True)


def lora_settings(lora: Any, options: Mapping[str, str]) -> Iterator[ProgramSetting]:
    """The fields of LoraArgs as options of a program; none where the whole model is trained."""
    for name, option in options.items():
        value = (lora or {}).get(name)
        yield ProgramSetting(f"lora.{name}", option, value)
