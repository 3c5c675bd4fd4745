"""Secrets of a workspace: tokens of hubs and keys of buckets, encrypted in the state."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import pulumi

from trainer_infra.errors import Problem
from trainer_infra.json_values import JSONObject
from trainer_infra.platform.workspaces.object_name import subdomain_problems

_KEY: Final = re.compile(r"[-._a-zA-Z0-9]{1,253}", re.ASCII)


def secret_object(name: str, namespace: str, values: Mapping[str, pulumi.Input[str]]) -> JSONObject:
    """A Secret whose values Pulumi keeps encrypted, those that the program gave as plain text too."""
    hidden = {key: pulumi.Output.secret(value) for key, value in values.items()}
    metadata = {"name": name, "namespace": namespace}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": metadata,
        "type": "Opaque",
        "stringData": hidden,
    }


def secret_problems(secrets: object) -> Iterator[Problem]:
    """What is wrong with Secrets; a value is in no message."""
    fix = 'write {"hub": {"ACCESS_TOKEN": config.require_secret("token")}}'
    if not isinstance(secrets, Mapping):
        what = f"must be a mapping of names to values, not {type(secrets).__name__}"
        yield Problem("secrets", what, fix=fix)
        return
    for name, values in secrets.items():
        yield from subdomain_problems("secrets", name)
        yield from _problems(f"secrets.{name}", values, fix)


def _problems(path: str, values: Any, fix: str) -> Iterator[Problem]:
    if not isinstance(values, Mapping) or not values:
        what = f"must be a mapping of keys to values, not {type(values).__name__}"
        yield Problem(path, "has no values" if values == {} else what, fix=fix)
        return
    for key, value in values.items():
        if not (isinstance(key, str) and _KEY.fullmatch(key)):
            write = "write letters, digits, -, _ and ."
            yield Problem(path, "is no key that a Secret takes", got=key, fix=write)
        if not isinstance(value, str | pulumi.Output):
            what = f"must be text, not {type(value).__name__}"
            yield Problem(f"{path}.{key}", what)
