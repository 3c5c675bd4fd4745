"""What trainers of language models have in common, LoRA above all: adapters in place of the whole model.

The names of LoRA are those of PEFT. Hu et al. 2021, arXiv 2106.09685; DoRA: Liu et al. 2024, arXiv
2402.09353; QLoRA: Dettmers et al. 2023, arXiv 2305.14314.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from typing import Any, Final, Literal, TypedDict

from trainer_infra.api.input import Input, is_stand_in
from trainer_infra.errors import Problem
from trainer_infra.in_pod import lora_adapter
from trainer_infra.trainers.array_values import as_python
from trainer_infra.trainers.libraries import option_schema
from trainer_infra.trainers.libraries.library_program import LibraryProgram, ProgramSetting
from trainer_infra.trainers.libraries.option_schema import OptionSchema
from trainer_infra.trainers.pods.pod_arguments import PythonPodArguments
from trainer_infra.words import did_you_mean

COUNTS: Final = ("num_nodes", "num_proc_per_node")
"""Fields of how many processes there are."""


class LoraArgs(TypedDict, total=False):
    """Adapters of low rank beside the weights of a model."""

    r: Input[int]
    """Rank of the adapters."""
    lora_alpha: Input[int]
    """Scale of the adapters: their output is multiplied by `lora_alpha / r`."""
    lora_dropout: Input[float]
    """Part of the adapters' input that a training step leaves out, 0 to 1."""
    target_modules: Input[Sequence[Input[str]] | Literal["all"]]
    """Names of the layers that get adapters, such as `q_proj`; LLaMA-Factory takes `"all"` in their place."""
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


def lora_problems(
    lora: Any, quantized: Sequence[str] = QUANTIZED, modules: Sequence[str] = ()
) -> Iterator[Problem]:
    """What is wrong with the mapping itself; its other values are judged as options of the program.

    `quantized` is what `quantize` may be with the trainer, `modules` are texts that `target_modules` may be in place
    of a list.
    """
    lora, known = option_schema.plain(lora), LoraArgs.__annotations__
    if lora is None:
        return
    if not isinstance(lora, Mapping):
        yield Problem("lora", "must be a mapping", lora, 'give {"r": 8}', independent=True)
        return
    for name in lora:
        if name not in known:
            fix = did_you_mean(name, known)
            yield Problem(f"lora.{name}", "is not known", fix=fix, independent=True)
    yield from _module_problems(lora.get("target_modules"), modules)
    quantize = lora.get("quantize")
    if quantize is not None and not is_stand_in(quantize) and quantize not in quantized:
        fix = f"use {' or '.join(quantized)}"
        yield Problem("lora.quantize", "is not a valid precision", quantize, fix, independent=True)


def _module_problems(given: Any, texts: Sequence[str]) -> Iterator[Problem]:
    path = "lora.target_modules"
    if given is None or is_stand_in(given) or (isinstance(given, str) and given in texts):
        return
    if not isinstance(given, list | tuple) or not given:
        words = [each.strip() for each in given.split(",")] if isinstance(given, str) else []
        meant = ["all-linear"] if words == ["all"] else [*filter(None, words)]
        fix = f"give {json.dumps(meant or ['q_proj', 'v_proj'])}"
        what = "must be a list with something in it"
        yield Problem(path, what, given, fix, independent=True)
        return
    for index, each in enumerate(given):
        if not isinstance(each, str) or not each or set(each) & set(", "):
            what, fix = "must be the name of a layer", "give a text without commas and spaces"
            yield Problem(f"{path}[{index}]", what, each, fix, independent=True)


def joined_modules(lora: Any) -> str | None:
    """`target_modules` as a text with commas, or None; judged ones."""
    given = (lora or {}).get("target_modules")
    return ",".join(map(str, given)) if isinstance(given, list | tuple) else given


def text_problems(
    trainer: Any, names: Sequence[str], *, optional: bool = False
) -> Iterator[Problem]:
    """Fields of a trainer that are no text: left out, the program would take a default of its own.

    None leaves an optional one out, in favour of other options such as a mixture of datasets.
    """
    defaults = {each.name: each.default for each in fields(trainer)}
    for name in names:
        value = option_schema.plain(getattr(trainer, name))
        if (isinstance(value, str) and value) or (optional and value is None):
            continue
        default = defaults[name]
        fix = "" if default is MISSING else f"leave it out for {default}"
        fix = "give str(path)" if isinstance(value, os.PathLike) else fix
        what = "must be a text with something in it" + (", not None" if value is None else "")
        yield Problem(name, what, value, fix, independent=True)


def single_problems(trainer: Any, names: Sequence[str], why: str) -> Iterator[Problem]:
    """Counts of a trainer that can only be 1, and are more."""
    for name in names:
        count = as_python(getattr(trainer, name))
        if count not in (None, 1) and not is_stand_in(count):
            yield Problem(name, f"must be 1: {why}", count, "leave it out", independent=True)


def lora_mapping(lora: Any) -> Mapping[str, Any] | None:
    """LoRA as settings are made of it: None where the whole model is trained, or where it is not a mapping."""
    given = option_schema.plain(lora)
    return given if isinstance(given, Mapping) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class MergingArguments(FineTuningArguments):
    """What a trainer takes whose library writes adapters in PEFT's form."""

    merge: Input[bool] = False
    """With `lora`: writes the whole model, the adapter merged into it, and the adapter below in `adapter`."""
    adapter: Input[str | None] = None
    """A LoRA adapter of `model` that an earlier job trained: the program trains the model with it in its weights. An
    output of that job, a folder, `pvc://CLAIM/PATH`, or a name on the Hub."""

    def program(
        self, name: str, module: str, schema: OptionSchema, settings: Iterable[ProgramSetting]
    ) -> LibraryProgram:
        """The library's program with what becomes of adapters."""
        return LibraryProgram(
            name,
            module,
            schema,
            tuple(settings),
            adapter=self.trained_adapter(),
            merge=self.merge is True,
            begins_with=adapter_address(option_schema.plain(self.adapter)),
        )

    def adapter_folder(self) -> str:
        """Where the program writes: below the merged model, or the output itself."""
        output, merge = option_schema.plain((self.output, self.merge))
        return f"{str(output).rstrip('/')}/{lora_adapter.FOLDER}" if merge is True else str(output)

    def trained_adapter(self) -> str:
        """The same, of a trainer that trains an adapter; empty of another one."""
        return "" if option_schema.plain(self.lora) is None else self.adapter_folder()


def adapter_address(given: Any) -> str:
    """An adapter as the pod finds it: a folder, a path in a claim, or a name on the Hub."""
    text = str(given or "")
    if text.startswith("file://"):
        return f"/{text.removeprefix('file://').lstrip('/')}"
    return text.removeprefix("hf://")


def adapter_problems(trainer: MergingArguments) -> Iterator[Problem]:
    """What is wrong with `merge` and `adapter`."""
    merge, adapter, lora = option_schema.plain((trainer.merge, trainer.adapter, trainer.lora))
    trains = lora is not None
    if not isinstance(merge, bool):
        yield Problem("merge", "must be True or False", merge, independent=True)
    elif merge and not trains:
        fix = "leave it out: the whole model is trained, or give lora="
        yield Problem("merge", "needs an adapter, and lora is not given", True, fix)
    if adapter is None or is_stand_in(adapter):
        return
    yield from text_problems(trainer, ("adapter",))
    scheme, mark, _ = str(adapter).partition("://")
    if mark and scheme not in {"pvc", "file", "hf"}:
        fix = (
            "keep it in a claim, trainer:outputs pvc://CLAIM, or merge it where it is trained, "
            "merge=True, and let initializer= fetch the model"
        )
        what = "is an address that pods do not mount"
        yield Problem("adapter", what, adapter, fix, independent=True)
    elif merge is False and trains:
        what = "is merged before, into a model that goes with the run: the new adapter has no base then"
        yield Problem("adapter", what, adapter, "give merge=True, or leave out lora=")


def lora_settings(lora: Any, options: Mapping[str, str]) -> Iterator[ProgramSetting]:
    """The fields of LoraArgs as options of a program; none where the whole model is trained."""
    for name, option in options.items():
        yield ProgramSetting(f"lora.{name}", option, (lora or {}).get(name))
