"""Trl: TRL's programs, `python -m trl.scripts.METHOD` on every node; the options are those of `trl METHOD --help`."""

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Final, Literal, TypeAlias, get_args

from trainer_infra.api.input import Input, is_stand_in
from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.trainers.libraries import fine_tuning, installed_options, option_schema
from trainer_infra.trainers.libraries.fine_tuning import MergingArguments
from trainer_infra.trainers.libraries.library_program import ProgramSetting
from trainer_infra.trainers.trainer import PackedProgram

Method: TypeAlias = Literal["sft", "dpo", "kto", "grpo", "rloo", "reward", "distillation"]
METHODS: Final[tuple[str, ...]] = get_args(Method)

_LORA: Final = {
    "r": "lora_r",
    "lora_alpha": "lora_alpha",
    "lora_dropout": "lora_dropout",
    "target_modules": "lora_target_modules",
    "use_dora": "use_dora",
}
"""Fields of LoraArgs -> options of TRL."""


@dataclass(frozen=True, slots=True)
class Trl(MergingArguments):
    """Fine-tunes a language model by one of TRL's methods, whole or with LoRA.

    Runs on a torch runtime whose image, or `packages`, have trl, and peft where `lora` is given.
    """

    method: Input[Method]
    """Supervised (`sft`), by preferences (`dpo`, `kto`), by rewards (`grpo`, `rloo`), a `reward` model,
    or `distillation` of a larger model."""
    _: KW_ONLY
    dataset: Input[str | None] = "/workspace/dataset"
    """A folder, where an initializer put it, or a name on the Hub; None where options have others, such as `datasets`."""

    def pack(self) -> PackedProgram:
        """The program, the trainer and the secrets, as `PackableTrainer.pack`."""
        method = option_schema.plain(self.method)
        if method not in METHODS:
            what, fix = "is not one of TRL's", option_schema.nearest(str(method), METHODS)
            raise InvalidInput([Problem("method", what, method, fix, independent=True)])
        found = (
            *fine_tuning.text_problems(self, ("model", "output")),
            *fine_tuning.lora_problems(self.lora),
            *fine_tuning.adapter_problems(self),
            *fine_tuning.text_problems(self, ("dataset",), optional=True),
        )
        schema = installed_options.option_schema_of(f"trl-{method}")
        name, module = f"trl {method}", f"trl.scripts.{method}"
        program = self.program(name, module, schema, self._settings())
        return program.packed(self.options, self, found)

    def _settings(self) -> Iterator[ProgramSetting]:
        yield ProgramSetting("model", "model_name_or_path", self.model)
        yield ProgramSetting("dataset", "dataset_name", self.dataset)
        yield ProgramSetting("output", "output_dir", self.adapter_folder())
        lora = fine_tuning.lora_mapping(self.lora)
        if lora is not None:
            yield ProgramSetting("lora", "use_peft", value=True)
            yield from fine_tuning.lora_settings(lora, _LORA)
            if bits := lora.get("quantize"):
                known = not is_stand_in(bits)
                option = f"load_in_{bits if known else fine_tuning.QUANTIZED[0]}"
                yield ProgramSetting("lora.quantize", option, value=known or bits)
