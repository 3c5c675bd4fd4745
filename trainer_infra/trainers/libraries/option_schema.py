"""Options of a library's own program: what it takes, what is wrong with given ones, and its command line.

`recorded/*.json` has what parsers said (`parser_record`), each with the library's version. Pure but
for reading those files.
"""

import json
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from functools import cache
from importlib.resources import files
from typing import Any, Final, Self

from trainer_infra import words
from trainer_infra.api.input import UNKNOWN, is_stand_in
from trainer_infra.api.secret import Secret
from trainer_infra.errors import Problem, independent
from trainer_infra.json_values import JSONObject, with_leaves
from trainer_infra.trainers.array_values import as_python
from trainer_infra.trainers.custom.func_args import not_json
from trainer_infra.trainers.pods.pod_arguments import mapping_problems

ARGPARSE: Final = "argparse"
CLICK: Final = "click"
"""Parsers, by how they read booleans and lists."""
ANY: Final = "any"
BOOLEAN: Final = "boolean"
INTEGER: Final = "integer"
LIST: Final = "list"
MAPPING: Final = "mapping"
NUMBER: Final = "number"
TEXT: Final = "text"
WHOLE: Final = "whole"
"""A whole number that may be written as a float, such as 5e8."""
WORDS: Final = {
    ANY: "a value",
    BOOLEAN: "true or false",
    INTEGER: "a whole number",
    LIST: "a list",
    MAPPING: "a mapping",
    NUMBER: "a number",
    TEXT: "a text",
    WHOLE: "a whole number",
}


@dataclass(frozen=True, slots=True)
class Option:
    """One option of a program."""

    kind: str
    """Of `WORDS`."""
    default: str | int | float | bool | None = None
    choices: tuple[str | int | float, ...] = ()
    """What it may be; empty for anything of its kind."""
    many: bool = False
    """Whether it takes a list."""
    required: bool = False
    also: tuple[str, ...] = ()
    """Other kinds of values that the library takes where it is called and no command line is read."""


@dataclass(frozen=True, slots=True)
class OptionSchema:
    """Every option of a program."""

    library: str
    version: str
    options: Mapping[str, Option]
    style: str = ARGPARSE
    """How a command line is written for its parser."""

    @classmethod
    def from_record(cls, record: JSONObject) -> Self:
        """The schema in what `parser_record` printed."""
        lists = ("choices", "also")
        options = {
            name: Option(**{**each, **{key: tuple(each.get(key) or ()) for key in lists}})
            for name, each in record["options"].items()
        }
        return cls(record["library"], record["version"], options, record.get("style", ARGPARSE))

    def problems(
        self, given: Any, program: str, managed: Mapping[str, str], field: str = "options"
    ) -> Iterator[Problem]:
        """What the program, `trl sft` in a sentence, would not take of a field's options; one of None is left out.

        What the trainer sets itself is `managed`, with what to give instead.
        """
        if misshapen := tuple(mapping_problems(field, given)):
            yield from misshapen
            return
        for name, value in given.items():
            path = f"{field}.{name}"
            if name in managed:
                what = "is set by the trainer itself"
                yield Problem(path, what, fix=managed[name], independent=True)
            elif name not in self.options:
                what = f"{program} of {self.library} {self.version} has no such option"
                fix = nearest(name, self.options)
                # A name is wrong whatever its value will be.
                got = None if UNKNOWN in repr(value) else value
                yield Problem(path, what, got, fix, independent=True)
            elif value is not None:
                yield from independent(_value_problems(path, self.options[name], value))

    def none_problems(self, given: Mapping[str, Any]) -> Iterator[Problem]:
        """Options of None, which is left out, where the library then takes another value."""
        for name, value in given.items():
            option = self.options.get(name)
            if value is None and option is not None and option.default is not None:
                taken = f"the library would take {option.default!r}"
                what = f"is None, which is not handed over: {taken}"
                fix = "leave it out, or give the value"
                yield Problem(f"options.{name}", what, fix=fix, independent=True)

    def command_line(self, given: Mapping[str, Any]) -> list[str]:
        """The options as the program reads them: judged ones, in the order given."""
        line: list[str] = []
        for name, value in given.items():
            if value is None:
                continue
            if self.style == CLICK:
                line += _click_words(name.replace("_", "-"), value)
            elif self.options[name].many and isinstance(value, list | tuple):
                line += [f"--{name}", *map(_text, value)]
            else:
                line.append(f"--{name}={_text(value)}")
        return line


def plain(value: Any) -> Any:
    """The value with what arrays of numpy and members of enumerations hold, and lists for tuples."""

    def held(leaf: Any) -> Any:
        if isinstance(leaf, Enum) and isinstance(leaf, str | int | float):
            return leaf.value
        return str.__str__(leaf) if isinstance(leaf, str) else leaf

    return with_leaves(as_python(value), held)


@cache
def recorded(name: str) -> OptionSchema:
    """The schema of a record: `trl-sft`."""
    text = (files(__package__) / "recorded" / f"{name}.json").read_text("utf-8")
    return OptionSchema.from_record(json.loads(text))


_ALIKE: Final = (
    ("num_train_epochs", "epochs", "num_epochs", "n_epochs", "max_epochs", "train_epochs"),
    ("learning_rate", "lr", "eta", "step_size"),
    ("per_device_train_batch_size", "batch_size", "train_batch_size", "micro_batch_size"),
    ("gradient_accumulation_steps", "grad_accum", "grad_accumulation", "accumulation_steps"),
    ("max_steps", "steps", "num_steps", "max_steps_per_epoch", "train_steps"),
    ("max_length", "max_seq_length", "max_seq_len", "cutoff_len", "block_size", "seq_len"),
    ("seed", "random_seed", "random_state"),
    ("max_grad_norm", "clip_grad_norm", "gradient_clipping", "grad_clip"),
    ("lr_scheduler_type", "scheduler", "lr_scheduler", "lr_schedule"),
    ("warmup_steps", "num_warmup_steps", "warmup"),
    ("optim", "optimizer"),
    ("max_depth", "depth"),
    ("subsample", "bagging_fraction"),
    ("lambda", "reg_lambda", "l2"),
    ("alpha", "reg_alpha", "l1"),
)
"""Names that libraries have for one option each."""


def nearest(name: str, known: Collection[str]) -> str:
    """What to do about a name that is not known: the nearest one, or the whole short list.

    Near is another library's name for it, one spelled alike, one whose words have these initials, or one that
    begins so.
    """
    few = 12
    plain_name = name.replace("-", "_").lower()
    near = (
        *(each for alike in _ALIKE if plain_name in alike for each in alike if each in known),
        *words.nearest(name.replace("-", "_"), known),
        *(each for each in known if "".join(word[:1] for word in each.split("_")) == name),
        *(each for each in sorted(known) if name and each.startswith(name)),
    )
    if near:
        return f"did you mean {near[0]}?"
    return f"use {', '.join(sorted(known))}" if len(known) <= few else "leave it out"


def _value_problems(path: str, option: Option, value: Any) -> Iterator[Problem]:
    if isinstance(value, Secret):
        fix = "pass it in env, under the variable that the library reads"
        yield Problem(path, "a program's options can be read by anyone", fix=fix)
    # JSON lacks some numbers too, but Python and the parsers read them.
    elif not isinstance(value, float) and (lost := tuple(not_json(value, path))):
        yield from lost
    elif is_stand_in(value) or any(_fits(each, value) for each in option.also):
        return
    elif not option.many:
        yield from _one_problem(path, option, value)
    elif not isinstance(value, list | tuple) or not value:
        yield Problem(path, "must be a list with something in it", got=value)
    else:
        for index, each in enumerate(value):
            yield from _one_problem(f"{path}[{index}]", option, each)


def _one_problem(path: str, option: Option, value: Any) -> Iterator[Problem]:
    if is_stand_in(value):
        return
    if not _fits(option.kind, value):
        kinds = " or ".join(WORDS[each] for each in (option.kind, *option.also))
        yield Problem(path, f"must be {kinds}", got=value, fix=_repair(option, value))
    elif option.choices and str(value) not in map(str, option.choices):
        fix = nearest(str(value), [str(each) for each in option.choices])
        yield Problem(path, "is not one of its values", got=value, fix=fix)


def _fits(kind: str, value: Any) -> bool:
    """Whether a value is of a kind; a text may be a mapping, which travels as JSON."""
    if kind == ANY:
        return True
    kinds: Mapping[str, type | tuple[type, ...]] = {
        BOOLEAN: bool,
        INTEGER: int,
        LIST: (list, tuple),
        MAPPING: Mapping,
        NUMBER: (int, float),
        TEXT: (str, int, float, Mapping),
        WHOLE: (int, float),
    }
    if kind == WHOLE and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, kinds[kind]) and (kind == BOOLEAN or not isinstance(value, bool))


def _repair(option: Option, value: Any) -> str:
    """What to write instead where a text holds what is meant."""
    if isinstance(value, str):
        try:
            meant = json.loads(value.lower() if option.kind == BOOLEAN else value)
        except ValueError:
            return ""
        return f"write {meant}" if _fits(option.kind, meant) else ""
    if option.kind == TEXT and isinstance(value, bool):
        return f'quote it: "{str(value).lower()}"'
    return ""


def _click_words(name: str, value: Any) -> list[str]:
    """An option as click reads it: one that is true or false is a flag, and a list is one for each."""
    if isinstance(value, bool):
        return [f"--{name}" if value else f"--no-{name}"]
    several = value if isinstance(value, list | tuple) else [value]
    return [f"--{name}={_text(each)}" for each in several]


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value < 0:
        # argparse takes -1e-05 for the name of an option.
        return f"{Decimal(repr(value)):f}"
    return json.dumps(value) if isinstance(value, Mapping) else str(value)
