"""Secrets of a workspace: tokens of hubs and keys of buckets, encrypted in the state."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

import pulumi

from trainer_infra.errors import Problem
from trainer_infra.json_values import JSONObject
from trainer_infra.platform.workspaces.object_name import subdomain_problems
from trainer_infra.platform.workspaces.workspace_args import EXAMPLES

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


def secret_problems(secrets: Mapping[str, Mapping[str, object]]) -> Iterator[Problem]:
    """What is wrong with Secrets; a value is in no message."""
    for name, values in secrets.items():
        yield from subdomain_problems("secrets", name)
        if not values:
            yield Problem(f"secrets.{name}", "has no values", fix=f"write {EXAMPLES['secrets']}")
        for key in values:
            if not _KEY.fullmatch(key):
                what, fix = "is no key that a Secret takes", "write letters, digits, -, _ and ."
                yield Problem(f"secrets.{name}", what, got=key, fix=fix)
