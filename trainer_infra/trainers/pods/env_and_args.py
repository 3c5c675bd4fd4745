"""`env` and `args`: what the container gets, exactly as it was written.

Called by `pod_arguments`. Kubernetes replaces `$(NAME)` in both, so a dollar that it would touch is
doubled. A Secret leaves a reference to the job's own Secret (design rule 1). Pure.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from trainer_infra import names
from trainer_infra.errors import Problem
from trainer_infra.json_values import JSONDict
from trainer_infra.trainers.secret import Secret

NAME = re.compile(r"[-._a-zA-Z][-._a-zA-Z0-9]*")


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
        yield from _bad_value(path, value)


def _bad_value(path: str, value: Any) -> Iterator[Problem]:
    if isinstance(value, Secret):
        if not value.later:
            yield from value.problems(path)
    elif isinstance(value, Mapping):
        if set(value) != {"valueFrom"} or not isinstance(value["valueFrom"], Mapping):
            fix = 'give text, or {"valueFrom": {...}} as a pod has it'
            yield Problem(path, "is a mapping of another kind", got=dict(value), fix=fix)
    elif not isinstance(value, str):
        what = f"must be text, not {type(value).__name__}"
        yield Problem(path, what, got=value, fix=f'quote it: "{value}"')


def text_list_problems(path: str, given: Any) -> Iterator[Problem]:
    """A command or its arguments that are no list of texts; None is none."""
    if not isinstance(given, list | tuple | None):
        yield Problem(path, "must be a list of texts", got=given)
        return
    for index, value in enumerate(given or ()):
        if isinstance(value, Secret):
            fix = "pass it in env, and read it from there"
            yield Problem(
                f"{path}[{index}]", "a program's arguments can be read by anyone", fix=fix
            )
        elif not isinstance(value, str):
            what = f"must be text, not {type(value).__name__}"
            yield Problem(f"{path}[{index}]", what, got=value, fix=f'quote it: "{value}"')
