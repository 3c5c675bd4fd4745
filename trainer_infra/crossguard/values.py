"""What CrossGuard hands over -> plain JSON in which values that are not known yet are marked.

To be judged, properties come as the engine sent them (`server`). To be mended, they come in
CrossGuard's proxies, which raise at the first unknown value and so would end a whole policy; ours
is a value like any other (`rules.value.UNKNOWN`). Numbers come as floats, as Pulumi has no others.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from google.protobuf.struct_pb2 import Struct, Value
from pulumi_policy import proxy
from pulumi_policy.deserialize import SPECIAL_SECRET_SIG, SPECIAL_SIG_KEY
from pulumi_policy.secret import Secret

from trainer_infra.json_values import JSON, as_integer, with_leaves
from trainer_infra.rules.value import UNKNOWN

_UNKNOWN: Final = frozenset((
    proxy.UNKNOWN_BOOLEAN_VALUE, proxy.UNKNOWN_NUMBER_VALUE, proxy.UNKNOWN_STRING_VALUE,
    proxy.UNKNOWN_ARRAY_VALUE, proxy.UNKNOWN_ASSET_VALUE, proxy.UNKNOWN_ARCHIVE_VALUE,
    proxy.UNKNOWN_OBJECT_VALUE,
))  # fmt: skip
_TARGET: Final = "__target"
"""Key under which a proxy gives what is behind it."""


def plain_value(value: Any) -> Any:
    """The value without proxies and marks of secrecy."""
    if isinstance(value, Struct):
        return _of_struct(value)
    if isinstance(value, Secret):
        return plain_value(value.value)
    if isinstance(value, Mapping):
        behind = behind_proxy(value)
        return {str(key): plain_value(behind[key]) for key in behind}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain_value(each) for each in behind_proxy(value)]
    return _scalar(value)


def _scalar(value: Any) -> Any:
    if isinstance(value, str):
        return UNKNOWN if value in _UNKNOWN else value
    return as_integer(value)


def _of_struct(value: Struct) -> Any:
    fields = value.fields
    if SPECIAL_SIG_KEY in fields and fields[SPECIAL_SIG_KEY].string_value == SPECIAL_SECRET_SIG:
        return _of_value(fields["value"])
    return {key: _of_value(each) for key, each in fields.items()}


def _of_value(value: Value) -> Any:
    kind = value.WhichOneof("kind")
    if kind == "struct_value":
        return _of_struct(value.struct_value)
    if kind == "list_value":
        return [_of_value(each) for each in value.list_value.values]
    return None if kind in {None, "null_value"} else _scalar(getattr(value, kind))


def to_engine(value: JSON) -> Any:
    """Plain JSON as the engine is to get it: unknown values are those of its wire again."""
    return with_leaves(value, lambda leaf: proxy.UNKNOWN_STRING_VALUE if leaf is UNKNOWN else leaf)


def behind_proxy(value: Any) -> Any:
    """What is behind a proxy; anything else as it is."""
    return value if isinstance(value, dict | list | tuple) else value[_TARGET]


def has_secret(value: Any) -> bool:
    """Whether a part of it is marked as secret."""
    if isinstance(value, Secret):
        return True
    if isinstance(value, Mapping):
        behind = behind_proxy(value)
        return any(has_secret(behind[key]) for key in behind)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return any(map(has_secret, behind_proxy(value)))
    return False
