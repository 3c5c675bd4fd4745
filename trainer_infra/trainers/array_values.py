"""Numbers and arrays of numpy and its like -> Python's own, which JSON has.

Nothing is imported for it: such a value is known by its `dtype` and `tolist`. Pure.
"""

from collections.abc import Mapping
from typing import Any, Final

from trainer_infra.api.secret import Secret

DEEPEST: Final = 100
"""Levels of lists and mappings that are looked into; `func_args` refuses deeper ones."""


def as_python(value: Any, depth: int = 0) -> Any:
    """The value with each array as lists and each of its scalars as a number or a text.

    Mappings, lists, tuples and Secrets keep their kind; anything else is returned as it is.
    """
    kind = type(value)
    if hasattr(kind, "dtype") and hasattr(kind, "tolist"):
        return value.tolist()
    if depth > DEEPEST:
        return value
    if isinstance(value, Mapping):
        return {
            as_python(key, depth + 1): as_python(each, depth + 1) for key, each in value.items()
        }
    if kind in {list, tuple}:
        return kind(as_python(each, depth + 1) for each in value)
    return Secret(as_python(value.value, depth + 1)) if kind is Secret else value
