"""HuggingFaceTrainer: your own function, with transformers.TrainingArguments made of judged options."""

from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, Final

from typing_extensions import override

from trainer_infra.api.input import Input
from trainer_infra.errors import Problem
from trainer_infra.trainers.custom.custom_trainer import CustomTrainer
from trainer_infra.trainers.frameworks.prepared_framework import PreparedFramework
from trainer_infra.trainers.libraries import installed_options, option_schema
from trainer_infra.trainers.libraries.fine_tuning import text_problems
from trainer_infra.trainers.trainer import PackedProgram

_MANAGED: Final = {"output_dir": "give output= of the trainer"}


@dataclass(frozen=True, slots=True)
class HuggingFaceTrainer(CustomTrainer):
    """Trains with your own function and transformers' Trainer, on a torch runtime.

    The function may take `arguments`, for `transformers.Trainer`: `def train(arguments): ...`.
    """

    _: KW_ONLY
    options: Input[Mapping[str, Any] | None] = None
    """Fields of TrainingArguments, such as `{"learning_rate": 2e-5, "max_steps": 100}`."""
    output: Input[str] = "output://model"
    """TrainingArguments' `output_dir`: an output of the run, or a folder."""

    @override
    def pack(self) -> PackedProgram:
        given = option_schema.plain(self.options) or {}
        problems = tuple(self._framework_problems(given))
        known = {} if problems else {key: each for key, each in given.items() if each is not None}
        settings = {"options": known, "output": option_schema.plain(self.output)}
        framework = PreparedFramework("hugging_face", settings, ("arguments",))
        return framework.packed(self, problems)

    def _framework_problems(self, given: Any) -> Iterator[Problem]:
        schema = installed_options.option_schema_of("hugging-face")
        yield from schema.problems(given, "TrainingArguments", _MANAGED)
        if isinstance(given, Mapping):
            yield from schema.none_problems(given)
        yield from text_problems(self, ("output",))
