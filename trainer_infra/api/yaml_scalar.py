"""How YAML readers take a plain scalar: kubectl's reader exactly, and all readers together.

yaml_source.py resolves plain text as kubectl's reader does (go-yaml v2), so that a manifest
means the same here and there; yamltext.py quotes whatever any reader takes for something else
than a string (YAML 1.1 types, which PyYAML reads, and YAML 1.2 core).
"""

import math
import re
from functools import lru_cache
from typing import Final

Scalar = str | int | float | bool | None

_BOOLEANS: Final = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "on", "On", "ON"), True),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "off", "Off", "OFF"), False),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_NULLS: Final = frozenset({"", "~", "null", "Null", "NULL"})
_INFINITE: Final = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_FLOAT: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_INTEGER: Final = re.compile(
    r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|(0|[1-9][0-9]*))"
)
_BASES: Final = (16, 2, 8, 10)
_SMALLEST: Final = -(2**63)
_LARGEST: Final = 2**64 - 1

# Words, and anything that begins like a number: dates, sexagesimals and 1_000 are among them.
_NUMBER_LIKE: Final = re.compile(r"[-+]?[._]*[0-9][0-9A-Fa-f_.,:xXoObBeEpP+\-TtZz ]*")
_WORDS: Final = frozenset(
    {"y", "yes", "on", "true", "n", "no", "off", "false", "null", "", "~", "<<", "=", "---", "..."}
)


@lru_cache(maxsize=1 << 12)
def as_kubectl(text: str) -> Scalar:
    """The value of a plain scalar as kubectl's reader sees it; dates stay text there."""
    if text in _NULLS:
        return None
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    if _INFINITE.fullmatch(text):
        return float(text.lower().replace(".", "", 1))
    if text[0] not in "+-.0123456789":
        return text
    plain = text.replace("_", "") if text[0] != "." else text
    whole = _INTEGER.fullmatch(plain)
    if whole is not None:
        sign, *digits = whole.groups()
        base, digit = next((b, d) for b, d in zip(_BASES, digits, strict=True) if d is not None)
        number = int(f"{sign}{digit}", base)
        if _SMALLEST <= number <= _LARGEST:
            return number
    decimal = float(plain) if _FLOAT.fullmatch(plain) else math.inf
    return decimal if math.isfinite(decimal) else text


def is_ambiguous(text: str) -> bool:
    """Whether some reader takes the plain text for something else than a string."""
    return (
        text.lower() in _WORDS
        or _NUMBER_LIKE.fullmatch(text) is not None
        or _INFINITE.fullmatch(text) is not None
    )
