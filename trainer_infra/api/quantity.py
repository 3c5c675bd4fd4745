"""Kubernetes resource quantities, for example `500m`, `1Gi` or `1e3`.

Called by render and local where they count or compare resources; what is written in an object is
never rewritten. Grammar, rounding and cap: k8s.io/apimachinery, `resource.Quantity`.
"""

import re
from decimal import MAX_EMAX, MIN_EMIN, ROUND_UP, Decimal, localcontext
from typing import Final

_GRAMMAR: Final = re.compile(
    r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))"
    r"(?:([KMGTPE]i)|([numkMGTPE])|[eE]([+-]?[0-9]{1,9}))?",
)
_POWERS: Final = {
    "n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18,
}  # fmt: skip
_BINARY: Final = ("Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_NANO: Final = Decimal("1e-9")
_LARGEST: Final = Decimal(2**63 - 1)


def parse(value: str | float) -> Decimal:
    """The amount that a quantity stands for, in its base unit (cores, bytes, devices).

    Fractions of 1n are rounded up, away from zero; an amount over 2^63-1 is cut to that.

    Raises:
        ValueError: when it is no quantity; the message is a sentence.
    """
    text = value if isinstance(value, str) else repr(value)
    match = _GRAMMAR.fullmatch(text)
    if match is None:
        raise ValueError(f"{value!r} is no quantity; write a number such as 1, 500m, 2.5 or 16Gi")
    number, binary, decimal, exponent = match.groups()
    power = exponent or _POWERS.get(decimal, 0)
    factor = 1024 ** (1 + _BINARY.index(binary)) if binary else 1
    # Enough digits that only the last step rounds.
    with localcontext(prec=len(text) + 30, Emax=MAX_EMAX, Emin=MIN_EMIN):
        amount = Decimal(f"{number}e{power}") * factor
        if abs(amount) >= _LARGEST:
            return _LARGEST.copy_sign(amount)
        return amount.quantize(_NANO, ROUND_UP) if amount % _NANO else amount


def value(value: str | float) -> int:
    """The amount as a whole number, rounded away from zero, like Quantity's `Value()`.

    Raises:
        ValueError: when it is no quantity; the message is a sentence.
    """
    return int(parse(value).to_integral_value(ROUND_UP))
