"""What stays the same of a finding when a file is edited elsewhere: baselines and SARIF know it by that.

Pure; called by `check`.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final

from trainer_infra.api.finding import Path

DIGITS: Final = 16
_JSON: Final = json.JSONEncoder(default=str)


def fingerprint(rule: str, value: Mapping[str, Any], path: Path, what: str) -> str:
    """16 hex digits of rule, object, place and clause; positions in lists are names where they can be."""
    metadata = value.get("metadata")
    named = metadata if isinstance(metadata, Mapping) else {}
    whose = [value.get("kind"), named.get("namespace"), named.get("name")]
    text = _JSON.encode([rule, whose, _named(value, path), what])
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]


def _named(value: Any, path: Path) -> list[str]:
    """The path, with the names of list items instead of their positions."""
    found = []
    for key in path:
        if isinstance(key, int):
            value = value[key] if isinstance(value, list) and key < len(value) else None
            name = value.get("name") if isinstance(value, Mapping) else None
            found.append(f"[{name if name is not None else key}]")
        else:
            value = value.get(key) if isinstance(value, Mapping) else None
            found.append(str(key))
    return found
