"""The SDK's Initializer -> spec.initializer in wire form, with tokens as Secrets (SDK contract 3.3). Pure."""

from collections.abc import Iterator
from dataclasses import fields
from typing import Any, Final

from trainer_infra.api.secret import Secret
from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.json_values import JSONDict
from trainer_infra.trainers.kubeflow_sdk.sdk_type import sdk_type

TYPE: Final = "Initializer"
DATA_CACHE: Final = "DataCacheInitializer"
KINDS: Final = {
    "dataset": ("HuggingFaceDatasetInitializer", "S3DatasetInitializer", DATA_CACHE),
    "model": ("HuggingFaceModelInitializer", "S3ModelInitializer"),
}
"""Fields of an Initializer -> types that they take."""
TOKENS: Final = frozenset({"access_token", "access_key_id", "secret_access_key"})
"""Fields that go into the job's own Secret."""


def initializer(given: Any) -> JSONDict | None:
    """spec.initializer; None where nothing is to be fetched.

    Raises:
        InvalidInput: holds every problem; none of them shows a token.
    """
    held = {name: getattr(given, name) for name in KINDS if getattr(given, name) is not None}
    if problems := [each for name, one in held.items() for each in _problems(name, one)]:
        raise InvalidInput(problems)
    return {name: _wire(each) for name, each in held.items()} or None


def _problems(name: str, given: Any) -> Iterator[Problem]:
    path, kinds = f"initializer.{name}", KINDS[name]
    if sdk_type(given) not in kinds:
        what = f"must be a {' or '.join(kinds)} of the kubeflow SDK"
        yield Problem(path, what, got=type(given).__name__)
        return
    patterns = getattr(given, "ignore_patterns", None)
    is_list = isinstance(patterns, list | tuple | None)
    if not is_list or not all(isinstance(each, str) for each in patterns or ()):
        yield Problem(f"{path}.ignore_patterns", "must be a list of texts", got=patterns)


def _wire(given: Any) -> JSONDict:
    """What fetches one of them: every field that is given is a variable."""
    values = {
        each.name: getattr(given, each.name) for each in fields(given) if each.name != "storage_uri"
    }
    if sdk_type(given) == DATA_CACHE:
        nodes = values.pop("num_data_nodes")
        # One of them is the head.
        values = {"cluster_size": str(nodes + 1), **values}
    env = [
        {"name": name.upper(), "value": _value(name, each)}
        for name, each in values.items()
        if each is not None
    ]
    return {"storageUri": given.storage_uri, "env": env}


def _value(name: str, given: Any) -> Any:
    if isinstance(given, list | tuple):
        return ",".join(given)
    return Secret(given) if name in TOKENS and not isinstance(given, Secret) else given
