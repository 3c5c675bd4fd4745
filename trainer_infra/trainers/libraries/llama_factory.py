"""LlamaFactory: fine-tuning with LLaMA-Factory, what `llamafactory-cli train` does on every node.

Users construct it; the deploy room calls `pack`. The options are those of LLaMA-Factory's YAML files.
"""

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Final, Literal, TypeAlias

from trainer_infra.errors import InvalidInput
from trainer_infra.trainers.array_values import as_python
from trainer_infra.trainers.input import Input
from trainer_infra.trainers.libraries import installed_options
from trainer_infra.trainers.libraries.fine_tuning import (
    FineTuningArguments,
    lora_problems,
    lora_settings,
)
from trainer_infra.trainers.libraries.library_program import LibraryProgram, ProgramSetting
from trainer_infra.trainers.trainer import PackedProgram

Stage: TypeAlias = Literal["pt", "sft", "rm", "ppo", "dpo", "kto"]

_LORA: Final = {
    "r": "lora_rank",
    "lora_alpha": "lora_alpha",
    "lora_dropout": "lora_dropout",
    "use_dora": "use_dora",
}
"""Fields of LoraArgs -> options of LLaMA-Factory."""
_BITS: Final = {"4bit": 4, "8bit": 8}
"""What `quantization_bit` takes."""


@dataclass(frozen=True, slots=True)
class LlamaFactory(FineTuningArguments):
    """Fine-tunes a language model with LLaMA-Factory, whole or with LoRA.

    Runs on a torch runtime whose image, or `packages`, have llamafactory.
    """

    stage: Input[Stage]
    """Further pre-training (`pt`), supervised (`sft`), a reward model (`rm`), or by preferences."""
    _: KW_ONLY
    template: Input[str]
    """Name of the prompts' form, such as `llama3` or `qwen`."""
    dataset: Input[str]
    """Names in the folder's `dataset_info.json`, with commas between them."""
    dataset_dir: Input[str] = "/workspace/dataset"
    """The folder, where an initializer put it."""

    def pack(self) -> PackedProgram:
        """The program, the trainer and the secrets.

        Raises:
            InvalidInput: holds every problem, in the order of the fields.
        """
        if problems := tuple(lora_problems(as_python(self.lora))):
            raise InvalidInput(problems)
        schema = installed_options.option_schema_of("llama-factory")
        name, module = "llamafactory-cli train", "llamafactory.launcher"
        settings = tuple(self._settings())
        return LibraryProgram(name, module, schema, settings).packed(self.options, self)

    def _settings(self) -> Iterator[ProgramSetting]:
        lora = as_python(self.lora)
        yield ProgramSetting("stage", "stage", self.stage)
        yield ProgramSetting("stage", "do_train", value=True)
        yield ProgramSetting("model", "model_name_or_path", self.model)
        yield ProgramSetting("template", "template", self.template)
        yield ProgramSetting("dataset", "dataset", self.dataset)
        yield ProgramSetting("dataset_dir", "dataset_dir", self.dataset_dir)
        yield ProgramSetting("output", "output_dir", self.output)
        yield ProgramSetting("lora", "finetuning_type", "full" if lora is None else "lora")
        yield from lora_settings(lora, _LORA)
        modules = (lora or {}).get("target_modules")
        yield ProgramSetting(
            "lora.target_modules", "lora_target", ",".join(modules) if modules else None
        )
        yield ProgramSetting(
            "lora.quantize", "quantization_bit", _BITS.get((lora or {}).get("quantize") or "")
        )
