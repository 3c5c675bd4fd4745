"""What the annotations of a component's arguments demand of the values that a program gives.

A program need not be type-checked, and much of what it gives comes from a stack's configuration. Called
for every component before it judges what the values say.
"""

import types
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final, Literal, Union, get_args, get_origin, get_type_hints

import pulumi
from typing_extensions import is_typeddict

from trainer_infra.api.finding import Path, path_text
from trainer_infra.errors import Problem
from trainer_infra.platform.argument_problems import UNKNOWN, WRITE_IT, is_plain
from trainer_infra.words import did_you_mean

_SCALARS: Final[Mapping[Any, tuple[str, tuple[type, ...]]]] = {
    bool: ("True or False", (bool,)),
    int: ("a whole number", (int,)),
    float: ("a number", (int, float)),
    str: ("a text", (str,)),
    type(None): ("None", (type(None),)),
}
_CONTAINERS: Final[Mapping[Any, str]] = {
    Mapping: "a mapping",
    Sequence: "a list",
    list: "a list",
    Callable: "a function",
}
_SHOWN: Final = (str, int, float, Mapping, list, tuple)
"""What a message shows of a value; of an object that a program made it names the type."""
_UNIONS: Final = (Union, types.UnionType)
_HIDDEN: Final = frozenset({"configuration", "guard", "kubeconfig", "secrets", "values"})
"""Fields whose values may have credentials; a message does not show what stands in their place."""
_LATER: Final = (pulumi.Output, Awaitable)
"""What becomes a value only when something is made."""


def type_problems(value: object, hint: Any, path: Path) -> Iterator[Problem]:
    """What is wrong with the types of a value and of everything inside it.

    Args:
        value: as the program gives it.
        hint: an annotation of a TypedDict of arguments, or such a TypedDict itself.
        path: where the value stands; empty for the arguments of a component.
    """
    options = _options(hint)
    if Any in options:
        return
    fitting = [each for each in options if _fits(value, each)]
    if not fitting:
        yield _mismatch(value, options, path)
        return
    found = [list(_inner_problems(value, each, path)) for each in fitting]
    yield from min(found, key=len)


@cache
def argument_hints(known: type) -> Mapping[str, Any]:
    """The annotations of a TypedDict, evaluated; `pulumi.Input` names Output in quotes."""
    # The quotes are evaluated where the TypedDict stands, and not every such module has these two names.
    return get_type_hints(known, localns={"Output": pulumi.Output, "T": Any})


def _options(hint: Any) -> Sequence[Any]:
    """The types that an annotation leaves to choose from."""
    if get_origin(hint) in _UNIONS:
        return [option for each in get_args(hint) for option in _options(each)]
    return [hint]


def _fits(value: object, hint: Any) -> bool:
    """Whether the value itself, whatever is inside it, is of the type."""
    origin = get_origin(hint) or hint
    if origin is Literal:
        return any(value == each and type(value) is type(each) for each in get_args(hint))
    if origin in _SCALARS:
        return isinstance(value, _SCALARS[origin][1]) and isinstance(value, bool) == (
            origin is bool
        )
    if is_typeddict(origin) or origin is Mapping:
        return isinstance(value, Mapping)
    if origin in {Sequence, list}:
        return isinstance(value, Sequence) and not isinstance(value, str | bytes)
    return callable(value) if origin is Callable else isinstance(value, origin)


def _inner_problems(value: Any, hint: Any, path: Path) -> Iterator[Problem]:
    origin = get_origin(hint) or hint
    if is_typeddict(origin):
        yield from _field_problems(value, origin, path)
    elif origin is Mapping:
        key_hint, value_hint = get_args(hint)
        for key, each in value.items():
            yield from type_problems(key, key_hint, (*path, str(key)))
            yield from type_problems(each, value_hint, (*path, str(key)))
    elif origin in {Sequence, list}:
        for index, each in enumerate(value):
            yield from type_problems(each, get_args(hint)[0], (*path, index))


def _field_problems(value: Mapping[str, Any], known: Any, path: Path) -> Iterator[Problem]:
    hints = argument_hints(known)
    for name, each in value.items():
        if name not in hints:
            what = f"is not {'a known field here' if path else 'an argument'}"
            yield Problem(path_text((*path, str(name))), what, fix=did_you_mean(name, hints))
        elif each is not None:
            yield from type_problems(each, hints[name], (*path, name))
    for name in hints:
        if name in known.__required_keys__ and value.get(name) is None:
            choices = _choices(_options(hints[name]))
            fix = f"use {', '.join(choices)}" if choices else ""
            yield Problem(path_text((*path, name)), "is missing", fix=fix)


def _mismatch(value: object, options: Sequence[Any], path: Path) -> Problem:
    if not is_plain(value):
        return Problem(path_text(path), UNKNOWN, fix=WRITE_IT)
    words = dict.fromkeys(word for each in options for word in _words(each))
    what = f"must be {' or '.join(words)}"
    if not _HIDDEN.isdisjoint(path):
        return Problem(path_text(path), f"{what}, and is of type {type(value).__name__}")
    got = value if isinstance(value, _SHOWN) else type(value).__name__
    fix = did_you_mean(value, _choices(options), "")
    return Problem(path_text(path), what, got=got, fix=fix)


def _choices(options: Sequence[Any]) -> Sequence[str]:
    """The words that a value may be."""
    literals = (get_args(each) for each in options if get_origin(each) is Literal)
    return [str(word) for words in literals for word in words]


def _words(hint: Any) -> Iterator[str]:
    """What a message calls a type; nothing of what becomes a value later."""
    origin = get_origin(hint) or hint
    if origin is Literal:
        yield from _choices([hint])
    elif origin in _SCALARS:
        yield _SCALARS[origin][0]
    elif is_typeddict(origin):
        needed = [each for each in argument_hints(origin) if each in origin.__required_keys__]
        yield f"a mapping with {' and '.join(needed)}" if needed else "a mapping"
    elif origin in _CONTAINERS:
        yield _CONTAINERS[origin]
    elif origin not in _LATER:
        yield f"a {origin.__name__}"
