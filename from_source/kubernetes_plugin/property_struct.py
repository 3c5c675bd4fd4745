"""Values as Pulumi's engine sends them to a provider, and as JSON.

Secrets and unknown values are marked in a `Struct` as `pulumi.runtime.rpc` marks them. All numbers of
a `Struct` are floating point; those without a fraction become integers here, as Kubernetes wants.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from google.protobuf.json_format import MessageToDict
from google.protobuf.struct_pb2 import Struct

UNKNOWN: Final = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
"""Stands in a preview for a value that only `up` knows; it stays in the JSON as it is."""
_SIGNATURE: Final = "4dabf18193072939515e22adb298388d"
_SECRET: Final = "1b47061264138c4ac30d75fd1eb44270"  # noqa: S105  the mark of one
_OUTPUT: Final = "d0e6a833031e9bbcd3f4e8bde6ca49a4"

Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Properties:
    """Properties of a resource."""

    value: dict[str, Any]
    """As JSON."""
    secrets: frozenset[Path] = frozenset()
    """Where secrets are in it."""

    @property
    def has_unknown(self) -> bool:
        """Whether `up` alone knows a part of it."""
        return any(each == UNKNOWN for _, each in leaves(self.value))


def properties(struct: Struct) -> Properties:
    """What the engine sent."""
    secrets: set[Path] = set()
    value = _plain(MessageToDict(struct), (), secrets)
    return Properties(value, frozenset(secrets))


def struct(value: Mapping[str, Any], secrets: frozenset[Path] = frozenset()) -> Struct:
    """What the engine gets; `secrets` that are not in the value are left out."""
    made = Struct()
    made.update(_marked(value, (), secrets))
    return made


def leaves(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every value that holds no other, empty lists and objects too, with its path."""
    if not value or not isinstance(value, dict | list):
        yield path, value
        return
    for key, each in value.items() if isinstance(value, dict) else enumerate(value):
        yield from leaves(each, (*path, key))


def _plain(value: Any, path: Path, secrets: set[Path]) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_plain(each, (*path, index), secrets) for index, each in enumerate(value)]
    if not isinstance(value, dict):
        return value
    mark = value.get(_SIGNATURE)
    if mark == _SECRET or (mark == _OUTPUT and value.get("secret")):
        secrets.add(path)
    if mark in {_SECRET, _OUTPUT}:
        return _plain(value.get("value", UNKNOWN), path, secrets)
    # Python's SDK sends None for what a program leaves out.
    held = {key: each for key, each in value.items() if each is not None}
    return {key: _plain(each, (*path, key), secrets) for key, each in held.items()}


def _marked(value: Any, path: Path, secrets: frozenset[Path]) -> Any:
    if isinstance(value, Mapping):
        value = {key: _marked(each, (*path, key), secrets) for key, each in value.items()}
    elif isinstance(value, list | tuple):
        value = [_marked(each, (*path, index), secrets) for index, each in enumerate(value)]
    return {_SIGNATURE: _SECRET, "value": value} if path in secrets else value
