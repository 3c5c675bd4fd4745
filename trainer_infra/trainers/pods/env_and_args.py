"""`env` and `args`: what the container gets, exactly as it was written.

Kubernetes replaces `$(NAME)` in both, so a dollar that it would touch is doubled. A Secret leaves a
reference to the job's own Secret (design rule 1). Pure.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from trainer_infra import names
from trainer_infra.api.secret import Secret
from trainer_infra.errors import Problem
from trainer_infra.json_values import JSONDict

NAME = re.compile(r"[-._a-zA-Z][-._a-zA-Z0-9]*")
LONGEST: Final = 128 * 1024
"""Bytes of one argument or variable with its end (Linux: MAX_ARG_STRLEN)."""


def secret_key(name: str) -> str:
    """Key of an env variable's value in the job's own Secret."""
    return f"env.{name}"


def env_entries(env: Mapping[str, Any]) -> list[JSONDict]:
    """Env variables in wire form, in the order given."""
    return [_entry(name, value) for name, value in env.items()]


def _entry(name: str, value: Any) -> JSONDict:
    if isinstance(value, Secret):
        reference = {"name": names.OWN_SECRET, "key": secret_key(name)}
        return {"name": name, "valueFrom": {"secretKeyRef": reference}}
    if isinstance(value, Mapping):
        return {"name": name, **value}
    return {"name": name, "value": literal_text(value)}


def literal_text(text: str) -> str:
    """A text that Kubernetes hands over unchanged."""
    return text.replace("$", "$$") if "$(" in text or "$$" in text else text


def env_problems(env: Mapping[str, Any]) -> Iterator[Problem]:
    """Names and values that are no env variable."""
    for name, value in env.items():
        path = f"env.{name}"
        if not isinstance(name, str) or not NAME.fullmatch(name):
            fix = "use letters, digits, `_`, `-` and `.`, and no digit first"
            yield Problem(path, "is not a name that an env variable may have", fix=fix)
        elif name == names.SECRET_ARGS:
            yield Problem(path, "is set by trainer_infra itself", fix="use another name")
        yield from _bad_value(path, name, value)


def _bad_value(path: str, name: Any, value: Any) -> Iterator[Problem]:
    if isinstance(value, Secret):
        if not value.later:
            yield from secret_problems(path, value)
    elif isinstance(value, Mapping):
        if set(value) != {"valueFrom"} or not isinstance(value["valueFrom"], Mapping):
            fix = 'give text, or {"valueFrom": {...}} as a pod has it'
            yield Problem(path, "is a mapping of another kind", got=dict(value), fix=fix)
    else:
        yield from text_problems(path, value, f"{name}=")


def secret_problems(path: str, secret: Secret) -> Iterator[Problem]:
    """What is wrong with a secret value of an env variable."""
    if found := tuple(secret.problems(path)):
        yield from found
        return
    for problem in text_problems(path, secret.value):
        yield replace(problem, got=None)


def text_problems(path: str, value: Any, before: str = "") -> Iterator[Problem]:
    """What is wrong with an argument, or with the value of a variable, which no program could get.

    `before` is what the program gets before it: of a variable its name and `=`.
    """
    if value is None:
        yield Problem(path, "must be text, not NoneType", fix="leave it out")
    elif not isinstance(value, str):
        what = f"must be text, not {type(value).__name__}"
        fix = f'quote it: "{value}"' if isinstance(value, int | float) else "give text"
        yield Problem(path, what, got=value, fix=fix)
    elif "\0" in value:
        what = "has a NUL character in it, which ends every argument and variable"
        yield Problem(path, what, got=value, fix="give other text, for example base64 of the bytes")
    elif len(f"{before}{value}".encode(errors="replace")) >= LONGEST:
        what = "is too long: Linux starts no program with an argument or a variable of 128 KiB"
        yield Problem(path, what, got=value, fix="write it to a file that the program reads")


def text_list_problems(path: str, given: Any) -> Iterator[Problem]:
    """A command or its arguments that are no list of texts; None is none."""
    if not isinstance(given, list | tuple | None):
        yield Problem(path, "must be a list of texts", got=given)
        return
    for index, value in enumerate(given or ()):
        if isinstance(value, Secret):
            what = "a program's arguments can be read by anyone"
            yield Problem(f"{path}[{index}]", what, fix="pass it in env, and read it from there")
        else:
            yield from text_problems(f"{path}[{index}]", value)
