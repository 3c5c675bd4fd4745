"""Unsloth: fine-tuning on one GPU with Unsloth's own program, `unsloth train`, whose `--help` has the options."""

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Final

from trainer_infra.api.input import Input, is_stand_in
from trainer_infra.trainers.libraries import fine_tuning, installed_options
from trainer_infra.trainers.libraries.fine_tuning import FineTuningArguments
from trainer_infra.trainers.libraries.library_program import LibraryProgram, ProgramSetting
from trainer_infra.trainers.trainer import PackedProgram

_LORA: Final = {
    "r": "lora_r",
    "lora_alpha": "lora_alpha",
    "lora_dropout": "lora_dropout",
    "use_dora": "use_dora",
}
"""Fields of LoraArgs -> options of Unsloth."""
QUANTIZED: Final = ("4bit",)
"""Precisions that its program has an option for."""


@dataclass(frozen=True, slots=True)
class Unsloth(FineTuningArguments):
    """Fine-tunes a language model with Unsloth, in one process on one node.

    Runs on a torch runtime whose image, or `packages`, have `unsloth[studio]`. Needs a GPU: without one its program
    ends where it loads the model.
    """

    _: KW_ONLY
    dataset: Input[str | None] = "/workspace/dataset"
    """A folder, where an initializer put it, or a name on the Hub; None where options have others, such as `local_dataset`."""

    def pack(self) -> PackedProgram:
        """The program, the trainer and the secrets, as `PackableTrainer.pack`."""
        found = (
            *fine_tuning.single_problems(self, fine_tuning.COUNTS, "Unsloth trains in one process"),
            *fine_tuning.text_problems(self, ("model", "output")),
            *fine_tuning.lora_problems(self.lora, QUANTIZED),
            *fine_tuning.text_problems(self, ("dataset",), optional=True),
        )
        schema = installed_options.option_schema_of("unsloth")
        program = LibraryProgram(
            "unsloth train",
            "unsloth_cli:app",
            schema,
            tuple(self._settings()),
            ("train",),
            ("python",),
            policies=(),
            reports=False,
        )
        return program.packed(self.options, self, found)

    def _settings(self) -> Iterator[ProgramSetting]:
        lora = fine_tuning.lora_mapping(self.lora)
        yield ProgramSetting("model", "model", self.model)
        yield ProgramSetting("dataset", "dataset", self.dataset)
        yield ProgramSetting("output", "output_dir", self.output)
        yield ProgramSetting("lora", "training_type", "full" if lora is None else "lora")
        yield from fine_tuning.lora_settings(lora, _LORA)
        modules = fine_tuning.joined_modules(lora)
        yield ProgramSetting("lora.target_modules", "target_modules", modules)
        quantize = (lora or {}).get("quantize")
        four = quantize if is_stand_in(quantize) else bool(quantize) or None
        yield ProgramSetting("lora.quantize", "load_in_4bit", four)
