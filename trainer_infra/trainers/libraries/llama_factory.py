"""LlamaFactory: `llamafactory-cli train` on every node; the options are those of LLaMA-Factory's YAML files."""

from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Final, Literal, TypeAlias

from trainer_infra.api.input import Input, is_stand_in
from trainer_infra.trainers.libraries import fine_tuning, installed_options, option_schema
from trainer_infra.trainers.libraries.fine_tuning import MergingArguments
from trainer_infra.trainers.libraries.library_program import ProgramSetting
from trainer_infra.trainers.trainer import PackedProgram

Stage: TypeAlias = Literal["pt", "sft", "rm", "ppo", "dpo", "kto"]

_LORA: Final = {
    "r": "lora_rank",
    "lora_alpha": "lora_alpha",
    "lora_dropout": "lora_dropout",
    "use_dora": "use_dora",
}
"""Fields of LoraArgs -> options of LLaMA-Factory."""
ALL: Final = "all"
"""What `lora_target` may be in place of names: every layer that can have an adapter."""
_BITS: Final = {"4bit": 4, "8bit": 8}
"""What `quantization_bit` takes."""


@dataclass(frozen=True, slots=True)
class LlamaFactory(MergingArguments):
    """Fine-tunes a language model with LLaMA-Factory, whole or with LoRA.

    Runs on a torch runtime whose image, or `packages`, have llamafactory.
    """

    stage: Input[Stage]
    """Further pre-training (`pt`), supervised (`sft`), a reward model (`rm`), or by preferences."""
    _: KW_ONLY
    template: Input[str | None]
    """Name of the prompts' form, such as `llama3` or `qwen`; None for that of the tokenizer."""
    dataset: Input[str]
    """Names in the folder's `dataset_info.json`, with commas between them."""
    dataset_dir: Input[str] = "/workspace/dataset"
    """The folder, where an initializer put it."""

    def pack(self) -> PackedProgram:
        """The program, the trainer and the secrets, as `PackableTrainer.pack`."""
        found = (
            *fine_tuning.text_problems(self, ("model", "output")),
            *fine_tuning.lora_problems(self.lora, modules=(ALL,)),
            *fine_tuning.adapter_problems(self),
            *fine_tuning.text_problems(self, ("template",), optional=True),
            *fine_tuning.text_problems(self, ("dataset", "dataset_dir")),
        )
        schema = installed_options.option_schema_of("llama-factory")
        name, module = "llamafactory-cli train", "llamafactory.launcher"
        program = self.program(name, module, schema, self._settings())
        return program.packed(self.options, self, found)

    def _settings(self) -> Iterator[ProgramSetting]:
        lora = fine_tuning.lora_mapping(self.lora)
        options = option_schema.plain(self.options)
        yield ProgramSetting("stage", "stage", self.stage)
        yield ProgramSetting("stage", "do_train", True, "leave it out: the trainer trains")
        yield ProgramSetting("model", "model_name_or_path", self.model)
        for name in ("template", "dataset", "dataset_dir"):
            yield ProgramSetting(name, name, getattr(self, name))
        yield ProgramSetting("output", "output_dir", self.adapter_folder())
        # The library has more types than adapters and the whole model, with options of their own.
        is_given = isinstance(options, Mapping) and options.get("finetuning_type") is not None
        if lora is not None or not is_given:
            instead = "give it or lora= of the trainer, not both"
            trained = "full" if lora is None else "lora"
            yield ProgramSetting("lora", "finetuning_type", trained, instead)
        yield from fine_tuning.lora_settings(lora, _LORA)
        yield ProgramSetting("lora.target_modules", "lora_target", fine_tuning.joined_modules(lora))
        quantize = (lora or {}).get("quantize")
        bits = quantize if is_stand_in(quantize) else _BITS.get(str(quantize))
        yield ProgramSetting("lora.quantize", "quantization_bit", bits)
