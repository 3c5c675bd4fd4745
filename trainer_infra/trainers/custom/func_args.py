"""`func_args`: arguments of the training function, as JSON that keeps their types.

What JSON would change (tuples, sets, NaN, keys that are no text) is refused with its path, not
converted. Pure.
"""

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
        module = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
        name = f"{module}{kind.__qualname__}"
        fix = INSTEAD.get(kind.__name__, "give text, numbers, lists and dicts of them")
        yield Problem(path, f"has type {name}, which does not travel as JSON", got=value, fix=fix)


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
            most = sys.int_info.default_max_str_digits
            what = f"has over {most} digits, which Python does not read"
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
    """Arguments that the function, defined at `where`, does not take, and those it needs and does not get.

    A framework gives it the provided ones.
    """
    spec = function.args
    positional = [*spec.posonlyargs, *spec.args]
    needed = [arg.arg for arg in positional[: len(positional) - len(spec.defaults)]]
    keywords = zip(spec.kwonlyargs, spec.kw_defaults, strict=True)
    needed += [arg.arg for arg, default in keywords if default is None]
    taken = [arg.arg for arg in (*spec.args, *spec.kwonlyargs)]
    for name in func_args:
        if name in provided:
            what = "is an argument that the trainer itself gives the function"
            yield Problem(f"func_args.{name}", what, fix="leave it out", where=where)
        elif name not in taken and spec.kwarg is None:
            what = f"function {function.name} takes no such argument"
            fix = did_you_mean(name, taken, f"it takes {', '.join(taken) or 'none'}")
            yield Problem(f"func_args.{name}", what, fix=fix, where=where)
    for arg in spec.posonlyargs:
        if arg.arg in needed:
            what = f"function {function.name} takes this argument by position only, and arguments have names"
            fix = "remove the / from its definition"
            yield Problem(f"func_args.{arg.arg}", what, fix=fix, where=where)
            needed.remove(arg.arg)
    for name in needed:
        if name not in func_args and name not in provided:
            what = f"function {function.name} needs this argument, and it is not given"
            yield Problem(f"func_args.{name}", what, fix="give it, or a default", where=where)
