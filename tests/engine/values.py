"""Property values as JSON, in which the SDK's own marks say what is secret and what is not known yet."""
# ruff: noqa: SLF001  the SDK's marks have no other name

import base64
import hashlib
import json
from typing import Any, Final

from google.protobuf.struct_pb2 import Struct, Value
from pulumi.runtime import rpc

from trainer_infra.json_values import as_integer

Properties = dict[str, Any]

UNKNOWN: Final = rpc.UNKNOWN
"""In the place of a value that only the deployment will tell."""
KIND: Final = rpc._special_sig_key
SECRET: Final = rpc._special_secret_sig
SHOWN: Final = "[secret]"
"""What is printed of a secret."""
_CIPHER: Final = "v1:"


def from_wire(given: Struct) -> Properties:
    """Properties as a program or a provider sent them."""
    return {name: _from_value(each) for name, each in given.fields.items()}


def to_wire(properties: Properties) -> Struct:
    """Properties as they are sent."""
    struct = Struct()
    struct.update(properties)
    return struct


def _from_value(value: Value) -> Any:
    kind = value.WhichOneof("kind")
    if kind == "struct_value":
        return from_wire(value.struct_value)
    if kind == "list_value":
        return [_from_value(each) for each in value.list_value.values]
    return None if kind in (None, "null_value") else as_integer(getattr(value, kind))


def secret(value: Any) -> Any:
    """The value, marked."""
    return value if is_secret(value) else {KIND: SECRET, "value": plain(value)}


def is_secret(value: Any) -> bool:
    """Whether it is marked as a whole."""
    return isinstance(value, dict) and value.get(KIND) == SECRET


def has_secret(value: Any) -> bool:
    """Whether it is marked, or something in it is."""
    if isinstance(value, dict):
        return is_secret(value) or any(map(has_secret, value.values()))
    return isinstance(value, list) and any(map(has_secret, value))


def is_unknown(value: Any) -> bool:
    """Whether something in it is not known yet."""
    if isinstance(value, dict):
        return any(map(is_unknown, value.values()))
    if isinstance(value, list):
        return any(map(is_unknown, value))
    return bool(value == UNKNOWN)


def known(value: Any) -> Any:
    """The value without what in it is not known."""
    if isinstance(value, dict):
        return {key: known(each) for key, each in value.items() if each != UNKNOWN}
    return [known(e) for e in value if e != UNKNOWN] if isinstance(value, list) else value


def plain(value: Any, shown: str | None = None) -> Any:
    """The value without marks, with a text in the place of each secret where one is given."""
    if is_secret(value):
        return plain(value["value"]) if shown is None else shown
    if isinstance(value, dict):
        return {key: plain(each, shown) for key, each in value.items()}
    return [plain(each, shown) for each in value] if isinstance(value, list) else value


def mark_like(properties: Properties, marked: Properties) -> None:
    """Mark what has the name of a secret in other properties: no provider of ours is told of marks."""
    for name, each in marked.items():
        own = properties.get(name)
        if name not in properties:
            continue
        if isinstance(own, dict) and isinstance(each, dict) and not is_secret(each):
            mark_like(own, each)
        elif has_secret(each):
            properties[name] = secret(own)


def sealed(value: Any) -> Any:
    """The value as the state has it: with texts that nobody can read in the place of secrets."""
    if is_secret(value):
        return {KIND: SECRET, "ciphertext": encrypted(json.dumps(value["value"]))}
    if isinstance(value, dict):
        return {key: sealed(each) for key, each in value.items()}
    return [sealed(each) for each in value] if isinstance(value, list) else value


def opened(value: Any) -> Any:
    """A value of the state as it was sealed."""
    if is_secret(value):
        return secret(json.loads(decrypted(value["ciphertext"])))
    if isinstance(value, dict):
        return {key: opened(each) for key, each in value.items()}
    return [opened(each) for each in value] if isinstance(value, list) else value


def encrypted(text: str) -> str:
    """A text that no search for the other finds, in any encoding; it keeps nothing from anybody."""
    return _CIPHER + base64.b64encode(_mixed(text.encode())).decode()


def decrypted(cipher: str) -> str:
    """The text that was encrypted."""
    return _mixed(base64.b64decode(cipher.removeprefix(_CIPHER))).decode()


def _mixed(data: bytes) -> bytes:
    stream = hashlib.shake_256(b"engine for tests").digest(len(data))
    return bytes(each ^ key for each, key in zip(data, stream, strict=True))
