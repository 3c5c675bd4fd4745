"""`$(VAR)` in command, args and env values, as Kubernetes defines it. Pure."""

import re
from collections.abc import Mapping
from typing import Final

_REFERENCE: Final = re.compile(r"\$(?:(\$)|\(([^)]*)\))")


def expand_references(text: str, variables: Mapping[str, str]) -> str:
    """The text with each `$(VAR)` replaced; an unknown one stays, and `$$` is a plain `$`."""

    def value(match: re.Match[str]) -> str:
        return "$" if match[1] else variables.get(match[2], match[0])

    return _REFERENCE.sub(value, text)
