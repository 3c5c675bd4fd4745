"""TorchTune: fine-tuning by the recipes of torchtune, in place of `BuiltinTrainer` of the kubeflow SDK.

The options are items of a recipe's configuration, by dotted names, as `tune cp` writes it.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, Final, Literal, TypeAlias, get_args

import yaml

from trainer_infra import names
from trainer_infra.api.input import Input, is_stand_in
from trainer_infra.errors import InvalidInput, Problem, independent
from trainer_infra.render.torchtune import MANAGED, OUTPUT
from trainer_infra.trainers.array_values import as_python
from trainer_infra.trainers.custom.func_args import not_json
from trainer_infra.trainers.libraries import fine_tuning, installed_options, option_schema
from trainer_infra.trainers.libraries.library_program import (
    ProgramSetting,
    managed_options,
    setting_problems,
)
from trainer_infra.trainers.libraries.option_schema import OptionSchema
from trainer_infra.trainers.pods import pod_library
from trainer_infra.trainers.pods.pod_arguments import PythonPodArguments, mapping_problems
from trainer_infra.trainers.trainer import PackedTrainer

Recipe: TypeAlias = Literal[
    "full_finetune_single_device",
    "full_finetune_distributed",
    "lora_finetune_single_device",
    "lora_finetune_distributed",
    "knowledge_distillation_single_device",
    "knowledge_distillation_distributed",
    "lora_dpo_single_device",
    "lora_dpo_distributed",
    "full_dpo_distributed",
    "ppo_full_finetune_single_device",
    "qat_distributed",
    "qat_lora_finetune_distributed",
]
RECIPES: Final[tuple[str, ...]] = get_args(Recipe)
"""Those that train; GRPO is not in the published package."""
DISTRIBUTED: Final = "distributed"
"""The end of the names of recipes that torchrun starts."""
PROGRAM: Final = "torchtune._cli.tune"
"""What the command `tune` runs."""
OF_RUNTIMES: Final = [
    each for each in RECIPES if each.startswith(("full_finetune", "lora_finetune"))
]
"""Recipes that the torchtune runtimes choose from, by LoRA, processes and nodes."""

_LORA: Final = {
    "r": "model.lora_rank",
    "lora_alpha": "model.lora_alpha",
    "lora_dropout": "model.lora_dropout",
    "target_modules": "model.lora_attn_modules",
    "use_dora": "model.use_dora",
}
"""Fields of LoraArgs -> items of a configuration."""
QUANTIZED: Final = ("4bit",)
"""What `model.quantize_base` does: NF4."""
_UNREADABLE: Final = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
"""Characters that JSON leaves as they are and YAML ends a line at, or refuses."""
_PLAIN: Final = re.compile(r"[A-Za-z_./][-\w./: ]*", re.ASCII)
"""Texts that need no quotes in YAML, unless they are one of its words, such as `true`."""
_MODULES: Final = ("q_proj", "v_proj", "output_proj")
"""Layers that get adapters where `lora` names none, as in the kubeflow SDK; that any are named makes it LoRA."""


@dataclass(frozen=True, slots=True)
class TorchTune(PythonPodArguments):
    """Fine-tunes a language model with torchtune.

    Without a recipe it runs on a `torchtune-*` runtime, which chooses recipe and configuration, and says where
    dataset, model and tokenizer are. With one it runs on a torch runtime whose image, or `packages`, have torchtune.
    """

    starts_python: ClassVar[bool] = False
    recipe: Input[Recipe | None] = None
    """Name of a recipe, as `tune ls` lists it."""
    config: Input[str | None] = None
    """Name of a configuration of the recipe, such as `llama3_2/1B_lora_single_device`."""
    _: KW_ONLY
    dtype: Input[str | None] = None
    """Precision of the weights: `bf16` or `fp32`."""
    batch_size: Input[int | None] = None
    epochs: Input[int | None] = None
    loss: Input[str | None] = None
    """Dotted path of a loss."""
    lora: Input[fine_tuning.LoraArgs | None] = None
    """Trains adapters in place of the whole model."""
    output: Input[str] = "output://model"
    """Where it writes: an output of the run, or a folder; `/workspace/output` of the torchtune runtimes goes with the run."""
    options: Input[Mapping[str, Any] | None] = None
    """Other items of the configuration, such as `{"optimizer.lr": 1e-4, "dataset.packed": True}`."""

    def pack(self) -> PackedTrainer:
        """The trainer, its program if it brings one, and the secrets, as `PackableTrainer.pack`."""
        recipe, config = option_schema.plain((self.recipe, self.config))
        return replace(self, recipe=recipe, config=config)._packed()  # noqa: SLF001  of this class

    def _packed(self) -> PackedTrainer:
        """The same, of one whose recipe and configuration are plain texts."""
        if problems := (*self._of_recipe(), *self.shape_problems()):
            raise InvalidInput(problems)
        given, lora = option_schema.plain(self.options) or {}, fine_tuning.lora_mapping(self.lora)
        settings, schema = tuple(self._settings(lora)), self._schema()
        program = f"tune run {self.recipe}" if self.recipe else "tune run"
        found = (
            *fine_tuning.lora_problems(self.lora, QUANTIZED),
            *fine_tuning.text_problems(self, ("output",)),
            *self._of_counts(),
        )
        judged = {each.path.partition("[")[0] for each in found}
        rest = [each for each in settings if each.field not in judged]
        problems = (
            *found,
            *setting_problems(schema, rest, program),
            *_option_problems(schema, given, settings, program, by_runtime=self.recipe is None),
            *(each for each in self.pod_problems() if each.path not in judged),
        )
        if problems:
            raise InvalidInput(problems)
        items = {each.option: each.value for each in settings if each.value is not None} | given
        line = [f"{name}={_yaml(value)}" for name, value in items.items()]
        if self.recipe:
            return self._with_program(line)
        trainer = {"command": list(names.TUNE_RUN), **self.spec_trainer(line)}
        return PackedTrainer(None, trainer, self.secret_data())

    def _of_recipe(self) -> Iterator[Problem]:
        if self.recipe is None and self.config is not None:
            yield Problem("config", "belongs to a recipe, and none is given", fix="give recipe=")
        if self.recipe is not None and self.recipe not in RECIPES:
            fix = option_schema.nearest(str(self.recipe), RECIPES)
            what = "is not one of torchtune's training recipes"
            yield Problem("recipe", what, self.recipe, fix, independent=True)
        elif self.recipe is not None:
            known = self._schema().options["config"].choices
            if self.config not in known and not is_stand_in(self.config):
                fix = option_schema.nearest(str(self.config), [str(each) for each in known])
                yield Problem("config", f"is not one of {self.recipe}", self.config, fix)

    def _of_counts(self) -> Iterator[Problem]:
        """Counts that the recipe cannot have: processes would each train the same alone, or fail."""
        recipe, config = str(self.recipe or ""), str(self.config or "")
        if recipe and not recipe.endswith(DISTRIBUTED):
            why = f"{recipe} trains in one process"
            yield from fine_tuning.single_problems(self, fine_tuning.COUNTS, why)
        elif "lora" in recipe + config:
            why = f"{recipe} trains LoRA, which torchtune does on one node"
            yield from fine_tuning.single_problems(self, fine_tuning.COUNTS[:1], why)

    def _schema(self) -> OptionSchema:
        """What the recipe takes; of runtimes that choose one, what those of its kind take."""
        if self.recipe:
            return installed_options.option_schema_of(f"torchtune-{self.recipe}")
        return schema_of_runtimes(lora=None if is_stand_in(self.lora) else self.lora is not None)

    def _settings(self, lora: Any) -> Iterator[ProgramSetting]:
        for name in ("dtype", "batch_size", "epochs", "loss"):
            yield ProgramSetting(name, name, option_schema.plain(getattr(self, name)))
        yield ProgramSetting("output", OUTPUT, option_schema.plain(self.output))
        if lora is not None:
            for name, option in _LORA.items():
                value = lora.get(name)
                value = list(_MODULES) if name == "target_modules" and not value else value
                yield ProgramSetting(f"lora.{name}", option, value)
            if bits := lora.get("quantize"):
                quantized = bits if is_stand_in(bits) else True
                yield ProgramSetting("lora.quantize", "model.quantize_base", quantized)

    def _with_program(self, line: list[str]) -> PackedTrainer:
        processes = as_python(self.num_proc_per_node) or "auto"
        distributed = str(self.recipe).endswith(DISTRIBUTED)
        torchrun = [f"--nproc_per_node={processes}"] if distributed else []
        args = ["run", *torchrun, str(self.recipe), "--config", str(self.config), *line]
        launch = {"launch.json": json.dumps({"program": PROGRAM, "reports": False})}
        code = self.code(pod_library.launcher_files() | launch, launcher=("python",))
        return PackedTrainer(code, self.spec_trainer(args), self.secret_data())


def schema_of_runtimes(*, lora: bool | None) -> OptionSchema:
    """What the recipes take that the torchtune runtimes choose from; None where LoRA is not known yet."""
    kind = {True: "lora", False: "full", None: ""}[lora]
    chosen = (each for each in OF_RUNTIMES if kind in each)
    records = [installed_options.option_schema_of(f"torchtune-{each}") for each in chosen]
    options = {name: each for record in records for name, each in record.options.items()}
    return OptionSchema(records[0].library, records[0].version, options)


def _option_problems(
    schema: OptionSchema,
    given: Any,
    settings: tuple[ProgramSetting, ...],
    program: str,
    *,
    by_runtime: bool,
) -> Iterator[Problem]:
    """What is wrong with the items; below a component of the user's own choice anything goes."""
    if misshapen := tuple(mapping_problems("options", given)):
        yield from misshapen
        return
    managed = {**managed_options(settings), "config": "give config= of the trainer"}
    if by_runtime:
        others = (each for each in (*MANAGED, "config") if each != OUTPUT)
        managed |= dict.fromkeys(others, "leave it out: the runtime says it")
    own = tuple(
        f"{name.removesuffix('._component_')}."
        for name in given
        if name.endswith("._component_") or f"{name}._component_" in schema.options
    )
    free = {each for each in given if each not in managed and each.startswith(own or ".")}
    judged = {name: each for name, each in given.items() if name not in free}
    yield from schema.problems(judged, program, managed)
    for name in (each for each in given if each in free):
        yield from independent(not_json(given[name], f"options.{name}"))


def _yaml(value: Any) -> str:
    """A value as the right side of `item=value`, which torchtune reads as YAML."""
    if isinstance(value, str) and _PLAIN.fullmatch(value) and yaml.safe_load(value) == value:
        return value
    if isinstance(value, list):
        return f"[{','.join(map(_yaml, value))}]"
    # YAML reads two escapes of one character as two characters, and takes no others as they are.
    return _UNREADABLE.sub(
        lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value, ensure_ascii=False)
    )
