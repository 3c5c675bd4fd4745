"""`func_args`: arguments of the training function, as JSON that keeps their types.

What JSON would change (tuples, sets, NaN, keys that are no text) is refused with its path, not
converted. Pure.
"""

import ast
import math
import sys
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from trainer_infra.api.secret import Secret
from trainer_infra.errors import Problem
from trainer_infra.trainers.array_values import DEEPEST
from trainer_infra.trainers.custom.source import Function
from trainer_infra.words import did_you_mean

INSTEAD = {
    "tuple": "give a list",
    "set": "give a sorted list",
    "frozenset": "give a sorted list",
    "bytes": "give text, for example base64",
    "Path": "give str(path)",
    "PosixPath": "give str(path)",
}
MANY_DIGITS: Final = 10**sys.int_info.default_max_str_digits
"""From here on Python converts no text to a number, as it does when it reads JSON."""


def not_json(value: Any, path: str, depth: int = 0) -> Iterator[Problem]:
    """Everything in a value that would not arrive as it is: exact types only."""
    if depth > DEEPEST:
        yield Problem(path[:100] + "…", f"is nested deeper than {DEEPEST} levels")
    elif type(value) is list:
        for index, each in enumerate(value):
            yield from not_json(each, f"{path}[{index}]", depth + 1)
    elif type(value) is dict:
        yield from _not_json_mapping(value, path, depth)
    elif isinstance(value, Secret):
        what = "a Secret inside an argument cannot be taken out of it"
        yield Problem(path, what, fix="make the whole argument one Secret")
    elif type(value) in {int, float}:
        yield from _not_json_number(value, path)
    elif type(value) not in {str, bool, type(None)}:
        kind = type(value)
        name = kind.__qualname__ if kind.__module__ == "builtins" else _full_name(kind)
        fix = INSTEAD.get(kind.__name__, "give text, numbers, lists and dicts of them")
        yield Problem(path, f"has type {name}, which does not travel as JSON", got=value, fix=fix)


def _full_name(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"


def _not_json_mapping(value: dict[Any, Any], path: str, depth: int) -> Iterator[Problem]:
    for key, each in value.items():
        if type(key) is str:
            yield from not_json(each, f"{path}.{key}", depth + 1)
        else:
            what = "has a key that is not text, which JSON would turn into text"
            yield Problem(path, what, got=key, fix="use text keys")


def _not_json_number(value: float, path: str) -> Iterator[Problem]:
    if isinstance(value, int):
        if abs(value) >= MANY_DIGITS:
            # Not shown: Python makes no text of it either.
            what = (
                f"has over {sys.int_info.default_max_str_digits} digits, which Python does not read"
            )
            yield Problem(path, what, fix="give it as text, for example hex(...)")
    elif not math.isfinite(value):
        yield Problem(path, "JSON has no such number", got=value, fix="give None or a text")


def argument_problems(func_args: Mapping[str, Any]) -> Iterator[Problem]:
    """Every value that would not arrive as it is; of secrets, the type and not the value."""
    for name, value in func_args.items():
        if not isinstance(value, Secret):
            yield from not_json(value, f"func_args.{name}")
        elif not value.later:
            for problem in not_json(value.value, f"func_args.{name}"):
                yield Problem(problem.path, problem.what, fix=problem.fix)


def signature_problems(
    func_args: Mapping[str, Any], function: Function, where: str, provided: Collection[str] = ()
) -> Iterator[Problem]:
    """Arguments that the function does not take, and those it needs and does not get.

    Args:
        func_args: what the user gives it.
        function: its definition.
        where: file and line of that.
        provided: names of arguments that a framework gives it.
    """
    spec = function.args
    positional = [*spec.posonlyargs, *spec.args]
    without = positional[: len(positional) - len(spec.defaults)]
    needed = [arg.arg for arg in without]
    needed += [
        arg.arg
        for arg, default in zip(spec.kwonlyargs, spec.kw_defaults, strict=True)
        if default is None
    ]
    taken = [arg.arg for arg in (*spec.args, *spec.kwonlyargs)]
    for name in func_args:
        if name in provided:
            what = "is an argument that the trainer itself gives the function"
            yield Problem(f"func_args.{name}", what, fix="leave it out", where=where)
        elif name not in taken and spec.kwarg is None:
            yield _unknown(name, taken, function.name, where)
    for arg in spec.posonlyargs:
        if arg.arg in needed:
            yield _by_position(arg, function.name, where)
            needed.remove(arg.arg)
    for name in needed:
        if name not in func_args and name not in provided:
            what = f"function {function.name} needs this argument, and it is not given"
            yield Problem(f"func_args.{name}", what, fix="give it, or a default", where=where)


def _unknown(name: str, taken: list[str], function: str, where: str) -> Problem:
    fix = did_you_mean(name, taken, f"it takes {', '.join(taken) or 'none'}")
    what = f"function {function} takes no such argument"
    return Problem(f"func_args.{name}", what, fix=fix, where=where)


def _by_position(arg: ast.arg, function: str, where: str) -> Problem:
    what = f"function {function} takes this argument by position only, and arguments have names"
    fix = "remove the / from its definition"
    return Problem(f"func_args.{arg.arg}", what, fix=fix, where=where)
