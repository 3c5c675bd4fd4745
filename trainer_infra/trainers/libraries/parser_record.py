"""The options that a library's own argument parser takes, as JSON; a program of its own.

`python parser_record.py trl-sft` prints them with the library's version. It runs in the Python that has the
library, and needs nothing else: `installed_options` runs it on a user's machine, and tools/option_records.py
makes what stands in `recorded/` with it.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import inspect
import json
import os
import pathlib
import re
import sys
from functools import partial
from types import UnionType
from typing import TYPE_CHECKING, Any, Union, get_args, get_origin, get_type_hints

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

KINDS = {"int": "integer", "float": "number", "string_to_bool": "boolean", "dict": "mapping"}
"""Names of a parser's types -> kinds of values; any other is text."""
SHIPPED_MODELS = ("llama3_2/1B_", "llama3_2/3B_", "llama3_3/70B_", "qwen2_5/1.5B_")


def main(wanted: str) -> None:
    """Print the record of one parser."""
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
    library, options = reader_of(wanted)
    record = {
        "library": library,
        "version": version_of(library),
        **({"style": "click"} if library == "unsloth" else {}),
        "options": dict(sorted(options())),
    }
    json.dump(record, sys.stdout)


def reader_of(wanted: str) -> tuple[str, Callable[[], Iterable[tuple[str, Any]]]]:
    """The library of a record, and what reads its parser; a library of several programs has a record for each."""
    library, _, program = wanted.partition("-")
    of_program = {"trl": trl_options, "torchtune": torchtune_options}.get(library)
    return (library, partial(of_program, program)) if of_program else READERS[wanted]


def version_of(library: str) -> str:
    """The version that is installed; XGBoost has a package of another name for machines without GPUs."""
    try:
        return importlib.metadata.version(library)
    except importlib.metadata.PackageNotFoundError:
        return importlib.metadata.version(f"{library}-cpu")


def trl_options(method: str) -> Iterable[tuple[str, Any]]:
    """Of the program `trl METHOD`."""
    return parser_options(importlib.import_module(f"trl.scripts.{method}").make_parser())


def training_arguments() -> Iterable[tuple[str, Any]]:
    """Of transformers' TrainingArguments: what its parser takes, and what its constructor takes besides."""
    arguments = importlib.import_module("transformers").TrainingArguments
    kinds = {name: set(admitted_kinds(each)) for name, each in get_type_hints(arguments).items()}
    for name, field in arguments.__dataclass_fields__.items():
        # What a flag without a value stands for is a value of the field too, whatever its annotation says.
        kinds[name] |= set(admitted_kinds(type(field.metadata.get("const"))))
    parser = importlib.import_module("transformers").HfArgumentParser([arguments])
    for name, each in parser_options(parser):
        also = sorted(kinds[name] - {"list" if each.get("many") else each["kind"]})
        yield name, {**each, "also": also} if also else each


def admitted_kinds(annotation: Any) -> Iterable[str]:
    """The kinds of the values that an annotation admits."""
    if get_origin(annotation) in (Union, UnionType):
        yield from (kind for each in get_args(annotation) for kind in admitted_kinds(each))
    elif kind := CONSTRUCTED_KINDS.get(get_origin(annotation) or annotation):
        yield kind


def llama_factory_options() -> Iterable[tuple[str, Any]]:
    """Of the program `llamafactory-cli train`."""
    parsed = importlib.import_module("llamafactory.hparams.parser")._TRAIN_ARGS  # noqa: SLF001  it has no other name
    return parser_options(importlib.import_module("transformers").HfArgumentParser(parsed))


def unsloth_options() -> Iterable[tuple[str, Any]]:
    """Of the program `unsloth train`."""
    app = importlib.import_module("unsloth_cli").app
    command = importlib.import_module("typer.main").get_command(app).commands["train"]
    for param in command.params:
        kind = VALUE_KINDS.get(param.type_descriptor.annotation, "text")
        if param.name != "help":
            yield param.name, option(kind, param.default, many=param.multiple)


def xgboost_options() -> Iterable[tuple[str, Any]]:
    """Of `xgboost.train`: what the boosters say of their configuration, and the estimators' names for it."""
    xgboost = importlib.import_module("xgboost")
    rows = xgboost.DMatrix([[0.0], [1.0]], label=[0, 1])
    found = {each: option("any", None) for each in inspect.signature(xgboost.XGBModel).parameters}
    found["eval_metric"] = option("any", None)
    for booster in ("gbtree", "dart", "gblinear"):
        for objective, more in OBJECTIVES.items():
            made = xgboost.Booster({"booster": booster, "objective": objective, **more}, [rows])
            settings = {**dict(configured(json.loads(made.save_config()))), **OF_ALL_BOOSTERS}
            found |= {name: xgboost_option(made, name, each) for name, each in settings.items()}
    yield from ((name, each) for name, each in found.items() if name not in ESTIMATORS_OWN)


def xgboost_option(booster: Any, name: str, text: str) -> dict[str, Any]:
    """A parameter, by what a booster says of values that it may not have, else by the one that it has."""
    said = re.search(r"expect (\w+)", xgboost_refusal(booster, name, "?", text))
    kind = EXPECTED.get(said.group(1) if said else "", "number" if is_number(text) else "text")
    several = kind == "text" and not all(
        xgboost_refusal(booster, name, each, text) for each in ([0.5], (1,))
    )
    also = {"boolean": ["integer"], "text": ["list"] * several}.get(kind)
    return {**option(kind, None), **({"also": also} if also else {})}


def xgboost_refusal(booster: Any, name: str, value: Any, before: str) -> str:
    """What a booster says to a value of a parameter; empty where it takes it."""
    refused = importlib.import_module("xgboost").core.XGBoostError
    try:
        booster.set_param(name, value)
        booster.save_config()
    except (refused, AttributeError, TypeError) as error:
        return str(error) or "refused"
    finally:
        booster.set_param(name, before)
    return ""


def configured(node: Any) -> Iterable[tuple[str, str]]:
    """The parameters in a booster's configuration, all of whose values are texts."""
    for name, value in node.items() if isinstance(node, dict) else ():
        if isinstance(value, str):
            yield name, value
        else:
            yield from configured(value)


def is_number(text: str) -> bool:
    """Whether a text is one number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def deepspeed_options() -> Iterable[tuple[str, Any]]:
    """Of `deepspeed.initialize`: every key that it looks for, and the fields of ZeRO's model."""
    asked: set[str] = set()

    def noting(name: str) -> Callable[..., Any]:
        def method(self: Any, key: str, *more: Any) -> Any:
            asked.add(key)
            return getattr(dict, name)(self, key, *more)

        return method

    methods = {name: noting(name) for name in ("get", "__getitem__", "__contains__")}
    methods["keys"] = lambda self: self
    configuration = type("Configuration", (dict,), methods)
    settings = {"train_micro_batch_size_per_gpu": 1, "train_batch_size": 1}
    importlib.import_module("deepspeed.runtime.config").DeepSpeedConfig(configuration(settings))
    yield from ((name, option("any", None)) for name in asked)
    zero = importlib.import_module("deepspeed.runtime.zero.config").DeepSpeedZeroConfig
    for name, each in zero.model_fields.items():
        kind = VALUE_KINDS.get(each.annotation) or ANNOTATED_KINDS.get(
            str(each.annotation).replace("typing.", ""), "any"
        )
        default = each.default if isinstance(each.default, (bool, int, float, str)) else None
        kind = "whole" if kind == "integer" else kind
        yield f"zero_optimization.{each.alias or name}", option(kind, default)


def torchtune_options(recipe: str) -> Iterable[tuple[str, Any]]:
    """Of a recipe: the items of its configurations, and the parameters of the components in them.

    Of full and LoRA fine-tuning only the configurations of the models that the catalog has runtimes of.
    """
    registry = importlib.import_module("torchtune._recipe_registry")
    known = {each.name: each.configs for each in registry.get_all_recipes()}[recipe]
    chosen = [
        each
        for each in known
        if each.name.startswith(SHIPPED_MODELS) or not recipe.startswith(("full_f", "lora_f"))
    ]
    yield "config", option("text", None, [each.name for each in chosen], required=True)
    # The recipes lie beside the package, and refuse to be imported.
    package = pathlib.Path(registry.__file__ or "").parent
    folder = package.parent / "recipes" / "configs"
    load = importlib.import_module("omegaconf").OmegaConf.load
    found: dict[str, Any] = {}
    for each in chosen:
        for name, item in config_items(load(folder / each.file_path), ""):
            found.setdefault(name, item)
    yield from found.items()


def config_items(config: Any, prefix: str) -> Iterable[tuple[str, Any]]:
    """The items of a configuration by their dotted names."""
    parameters = {}
    if "_component_" in config:
        locate = importlib.import_module("torchtune.config._utils")._get_component_from_path  # noqa: SLF001  it has no other name
        parameters = dict(inspect.signature(locate(config["_component_"])).parameters)
        yield prefix.rstrip("."), option("text", config["_component_"])
    for name in [*config, *(each for each in parameters if each not in config)]:
        value = config._get_node(name) if name in config else None  # noqa: SLF001  an interpolation as it is
        plain = value._value() if value is not None else None  # noqa: SLF001  the same
        if isinstance(plain, dict):
            yield from config_items(value, f"{prefix}{name}.")
        elif getattr(parameters.get(name), "kind", None) not in VARIADIC:
            yield f"{prefix}{name}", option(*item_kind(plain, parameters.get(name)))


def item_kind(value: Any, parameter: Any) -> tuple[str, Any]:
    """The kind of an item by its value, else by the annotation of the parameter that it becomes; its default."""
    interpolated = isinstance(value, str) and "${" in value
    kind = VALUE_KINDS.get(type(value))
    if kind is None and parameter is not None:
        kind = ANNOTATED_KINDS.get(str(parameter.annotation).replace("typing.", ""))
    return kind or "any", None if interpolated else value


def parser_options(parser: argparse.ArgumentParser) -> Iterable[tuple[str, Any]]:
    """Of an argparse parser; what only says no to an option that is there is none itself."""
    for action in parser._actions:  # noqa: SLF001  argparse has no other list of them
        if type(action).__name__ not in {"_StoreAction", "_StoreTrueAction"}:
            continue
        flag = type(action).__name__ == "_StoreTrueAction"
        kind = "boolean" if flag else KINDS.get(getattr(action.type, "__name__", ""), "text")
        choices = [each for each in action.choices or () if isinstance(each, (str, int, float))]
        many = action.nargs in {"+", "*"}
        made = option(kind, action.default, choices, many=many, required=action.required)
        yield action.dest, made


def option(
    kind: str,
    default: Any,
    choices: Iterable[Any] = (),
    *,
    many: bool = False,
    required: bool = False,
) -> dict[str, Any]:
    """One option, without what is as it mostly is."""
    default = getattr(default, "value", default)
    plain = isinstance(default, (str, int, float, bool)) and default != argparse.SUPPRESS
    stated = {
        "kind": kind,
        "default": default if plain else None,
        "choices": list(choices) or None,
        "many": many or None,
        "required": required or None,
    }
    return {key: value for key, value in stated.items() if value is not None}


OBJECTIVES: dict[str, dict[str, Any]] = {
    "reg:squarederror": {},
    "multi:softmax": {"num_class": 2},
    "rank:ndcg": {},
    "survival:aft": {},
    "reg:tweedie": {},
    "reg:pseudohubererror": {},
    "reg:quantileerror": {"quantile_alpha": 0.5},
    "count:poisson": {},
}
"""Objectives of XGBoost that between them have every parameter, with what they cannot do without."""
OF_ALL_BOOSTERS = {"nthread": "0", "seed": "0", "verbosity": "1"}
"""Parameters that no configuration has, or under another name, and values of them."""
EXPECTED = {
    **dict.fromkeys(("int", "long"), "whole"),
    **dict.fromkeys(("float", "double"), "number"),
    "boolean": "boolean",
}
"""What XGBoost calls the kinds of its parameters -> kinds of values."""
ESTIMATORS_OWN = ("kwargs", "n_estimators", "missing", "callbacks", "early_stopping_rounds", "name")
"""Names of the estimators and of the configuration that are no parameters of training."""
VARIADIC = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
VALUE_KINDS = {bool: "boolean", int: "integer", float: "number", str: "text"}
CONSTRUCTED_KINDS = {**VALUE_KINDS, list: "list", dict: "mapping"}
"""Types of what a constructor gets -> kinds of values."""
ANNOTATED_KINDS = {
    **{str(each): kind for each, kind in VALUE_KINDS.items()},
    **{f"Optional[{each.__name__}]": kind for each, kind in VALUE_KINDS.items()},
}

READERS: dict[str, tuple[str, Callable[[], Iterable[tuple[str, Any]]]]] = {
    "hugging-face": ("transformers", training_arguments),
    "llama-factory": ("llamafactory", llama_factory_options),
    "unsloth": ("unsloth", unsloth_options),
    "deepspeed": ("deepspeed", deepspeed_options),
    "xgboost": ("xgboost", xgboost_options),
}
"""Name of a record, of a library with one -> the library, and what reads its parser."""

if __name__ == "__main__":
    # The folder of this file, where `trl` is another module.
    del sys.path[0]
    main(sys.argv[1])
