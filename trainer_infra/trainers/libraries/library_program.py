"""A library's own program as the code of a job: its options judged, its command line written.

The launcher in the pod (`in_pod/main.py`) runs the program as `python -m` does, under what the
runtime starts programs with, torchrun for example.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from trainer_infra.api.input import is_stand_in
from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.trainers.libraries.option_schema import OptionSchema, plain
from trainer_infra.trainers.pods import pod_library
from trainer_infra.trainers.pods.pod_arguments import PythonPodArguments
from trainer_infra.trainers.trainer import PackedProgram

MODEL: Final = "--model_name_or_path"
"""The option by which programs of transformers take their model."""


@dataclass(frozen=True, slots=True)
class ProgramSetting:
    """An option that a field of the trainer sets."""

    field: str
    """The field, as a problem names it: `lora.r`."""
    option: str
    """The program's name for it."""
    value: Any
    """None leaves it out."""
    instead: str = ""
    """What to give in place of the option, where it is not the field."""


@dataclass(frozen=True, slots=True)
class LibraryProgram:
    """A program, and what of it a trainer sets."""

    name: str
    """As a sentence names it: `trl sft`."""
    module: str
    """What `python -m` runs, or `module:function` that is called."""
    schema: OptionSchema
    settings: tuple[ProgramSetting, ...]
    """In the order of the command line."""
    words: tuple[str, ...] = ()
    """What the command line begins with."""
    launcher: tuple[str, ...] = ()
    """What starts the program in place of the runtime's launcher."""
    policies: tuple[str, ...] = ("torch",)
    """Fields of a runtime's mlPolicy of which it needs one."""
    reports: bool = True
    """Whether it trains with transformers' Trainer, which then reports its progress."""
    adapter: str = ""
    """Where it writes a LoRA adapter in PEFT's form; empty where it trains none."""
    merge: bool = False
    """Whether the adapter is merged into its model, in the folder above."""
    begins_with: str = ""
    """Where the adapter is that its model has in its weights from the beginning; empty where there is none."""

    def packed(
        self, options: Any, pods: PythonPodArguments, found: Sequence[Problem] = ()
    ) -> PackedProgram:
        """What a TrainJob needs of it, on pods, with the program's own options after the settings.

        What is found wrong with fields of the trainer is not judged again.

        Raises:
            InvalidInput: holds every problem of settings, options and pods.
        """
        given = plain(options) or {}
        shapes = tuple(pods.shape_problems())
        judged = {each.path.partition("[")[0] for each in found}
        problems = shapes or (
            *self._problems(given, judged),
            *(each for each in pods.pod_problems() if each.path not in judged),
        )
        if found or problems:
            raise InvalidInput((*found, *problems))
        settings = {each.option: plain(each.value) for each in self.settings}
        line = [*self.words, *self.schema.command_line({**settings, **given})]
        launch: dict[str, Any] = {"program": self.module, "reports": self.reports}
        if self.adapter:
            launch |= {"adapter": self.adapter, "merge": self.merge}
        if self.begins_with:
            launch |= {"begins_with": {"adapter": self.begins_with, "option": MODEL}}
        files = {**pod_library.launcher_files(), "launch.json": json.dumps(launch)}
        files |= pod_library.adapter_files() if self.adapter or self.begins_with else {}
        files |= pod_library.saving_callback_files() if self.reports else {}
        code = pods.code(files, launcher=self.launcher, policies=self.policies)
        return PackedProgram(code, pods.spec_trainer(line), pods.secret_data())

    def _problems(self, given: Any, judged: Collection[str]) -> Iterator[Problem]:
        rest = [each for each in self.settings if each.field not in judged]
        yield from setting_problems(self.schema, rest, self.name)
        managed = managed_options(self.settings)
        yield from self.schema.problems(given, self.name, managed)
        if isinstance(given, Mapping):
            own = {name: each for name, each in given.items() if name not in managed}
            yield from self.schema.none_problems(own)


def setting_problems(
    schema: OptionSchema, settings: Iterable[ProgramSetting], program: str
) -> Iterator[Problem]:
    """What is wrong with fields of a trainer, under the fields' own names."""
    for each in settings:
        if each.value is None:
            continue
        for problem in schema.problems({each.option: plain(each.value)}, program, {}):
            rest = problem.path.removeprefix(f"options.{each.option}")
            yield replace(problem, path=each.field + rest)


def managed_options(settings: Iterable[ProgramSetting]) -> dict[str, str]:
    """Options that fields of a trainer set, and what to give instead; a value that is not known may be None."""
    given = (each for each in settings if each.value is not None and not is_stand_in(each.value))
    return {each.option: each.instead or f"give {each.field}= of the trainer" for each in given}
