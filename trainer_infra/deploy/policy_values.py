"""What CrossGuard hands over -> plain JSON in which values that are not known yet are marked.

Its proxies raise at the first unknown value, which would end a whole policy; ours is a value like
any other (`rules.value.UNKNOWN`). Numbers come as floats, as Pulumi has no others.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from pulumi_policy import proxy
from pulumi_policy.secret import Secret

from trainer_infra.rules.value import UNKNOWN

_UNKNOWN: Final = frozenset(
    {
        proxy.UNKNOWN_BOOLEAN_VALUE,
        proxy.UNKNOWN_NUMBER_VALUE,
        proxy.UNKNOWN_STRING_VALUE,
        proxy.UNKNOWN_ARRAY_VALUE,
        proxy.UNKNOWN_ASSET_VALUE,
        proxy.UNKNOWN_ARCHIVE_VALUE,
        proxy.UNKNOWN_OBJECT_VALUE,
    }
)
_TARGET: Final = "__target"
"""Key under which a proxy gives what is behind it."""


def plain(value: Any) -> Any:
    """The value without proxies and marks of secrecy."""
    if isinstance(value, Secret):
        return plain(value.value)
    if isinstance(value, str):
        return UNKNOWN if value in _UNKNOWN else value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        behind = target(value)
        return {str(key): plain(behind[key]) for key in behind}
    if isinstance(value, Sequence):
        return [plain(each) for each in target(value)]
    return value


def target(value: Any) -> Any:
    """What is behind a proxy; anything else as it is."""
    return value if isinstance(value, dict | list | tuple) else value[_TARGET]


def has_secret(value: Any) -> bool:
    """Whether a part of it is marked as secret."""
    if isinstance(value, Secret):
        return True
    if isinstance(value, Mapping):
        behind = target(value)
        return any(has_secret(behind[key]) for key in behind)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return any(map(has_secret, target(value)))
    return False
