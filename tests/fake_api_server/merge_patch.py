"""What a JSON merge patch makes of an object (RFC 7386). Pure."""

from typing import Any


def merged(old: Any, patch: Any) -> Any:
    """The value with the patch in it; what the patch sets to null is gone."""
    if not isinstance(patch, dict):
        return patch
    there = dict(old) if isinstance(old, dict) else {}
    for key, value in patch.items():
        if value is None:
            there.pop(key, None)
        else:
            there[key] = merged(there.get(key), value)
    return there
