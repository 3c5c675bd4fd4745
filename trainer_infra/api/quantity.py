"""Kubernetes resource quantities, for example `500m`, `1Gi` or `1e3`.

What is written in an object is never rewritten. Grammar, rounding, cap and canonical text:
k8s.io/apimachinery, `resource.Quantity`.
"""

import re
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, ROUND_UP, Decimal, localcontext
from enum import StrEnum
from functools import lru_cache
from typing import Final

from typing_extensions import override

WORDS: Final = "a quantity such as 1, 500m or 16Gi"
"""What an amount must be, in words."""
_GRAMMAR: Final = re.compile(
    r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))"
    r"(?:([KMGTPE]i)|([numkMGTPE])|[eE]([+-]?[0-9]{1,9}))?"
)
_COMMON_UNITS: Final = re.compile(
    r"(?P<number>[0-9]+(\.[0-9]+)?) *(?P<letter>[kmgtpe])(?P<binary>i?)(b|byte|bytes)?",
    re.IGNORECASE,
)
_POWERS: Final = {
    "n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18,
}  # fmt: skip
_BINARY: Final = ("Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_EXPONENT: Final = re.compile("[eE][+-]?[0-9]")
_NANO: Final = Decimal("1e-9")
_NANOS: Final = 10**9
_KIBI: Final = 1024
_LARGEST: Final = Decimal(2**63 - 1)
_DECIMAL: Final = ("n", "u", "m", "", "k", "M", "G", "T", "P", "E")


class Notation(StrEnum):
    """How a quantity is written; a sum keeps that of its first amount that is not zero."""

    DECIMAL = "decimal"
    """Powers of ten by letter, for example `1500m` and `2k`."""
    BINARY = "binary"
    """Powers of 1024 by letters, for example `2Gi`."""
    EXPONENT = "exponent"
    """Powers of ten by number, for example `2e3`."""


_MARKS: Final = {Notation.DECIMAL: "", Notation.BINARY: "i", Notation.EXPONENT: "e"}


@dataclass(frozen=True, slots=True)
class Quantity:
    """An exact amount and its notation; `str` is Kubernetes' canonical text of it."""

    nanos: int
    """The amount in billionths of its base unit (cores, bytes, devices)."""
    notation: Notation = Notation.DECIMAL

    def __add__(self, other: "Quantity") -> "Quantity":
        """The sum, in the notation of this amount, or of the other where this one is zero."""
        notation = self.notation if self.nanos else other.notation
        return Quantity(self.nanos + other.nanos, notation)

    def times(self, count: int) -> "Quantity":
        """The amount for `count` of the same."""
        return Quantity(self.nanos * count, self.notation)

    @override
    def __str__(self) -> str:
        whole, rest = divmod(self.nanos, _NANOS)
        if self.notation is Notation.BINARY and not rest and abs(whole) >= _KIBI:
            power = 0
            while whole % _KIBI == 0 and power < len(_BINARY):
                whole //= _KIBI
                power += 1
            return f"{whole}{('', *_BINARY)[power]}"
        return _decimal_text(self.nanos, self.notation)


def read_quantity(value: str | float) -> Quantity:
    """The quantity with its notation; rounded and cut as by `parse_quantity`.

    The notation is that of the canonical text, as when an object was stored once: `0.5Ki` is 512,
    which is decimal.

    Raises:
        ValueError: when it is not a quantity; the message is a sentence.
    """
    with localcontext(prec=60):
        nanos = int(parse_quantity(value) * _NANOS)
    text = value if isinstance(value, str) else repr(value)
    power = Notation.EXPONENT if _EXPONENT.search(text) else Notation.DECIMAL
    written = Quantity(nanos, Notation.BINARY if text.endswith("i") else power)
    return written if _MARKS[written.notation] in str(written) else Quantity(nanos)


@lru_cache(maxsize=1 << 10, typed=True)
def parse_quantity(value: str | float) -> Decimal:
    """The amount that a quantity stands for, in its base unit (cores, bytes, devices).

    Fractions of 1n are rounded up, away from zero; an amount over 2^63-1 is cut to that.

    Raises:
        ValueError: when it is not a quantity; the message is a sentence.
    """
    text = value if isinstance(value, str) else repr(value)
    match = _GRAMMAR.fullmatch(text)
    if match is None:
        raise ValueError(
            f"{value!r} is not a quantity; write a number such as 1, 500m, 2.5 or 16Gi"
        )
    number, binary, decimal, exponent = match.groups()
    power = exponent or _POWERS.get(decimal, 0)
    factor = 1024 ** (1 + _BINARY.index(binary)) if binary else 1
    # Enough digits that only the last step rounds.
    with localcontext(prec=len(text) + 30, Emax=MAX_EMAX, Emin=MIN_EMIN):
        amount = Decimal(f"{number}e{power}") * factor
        if abs(amount) >= _LARGEST:
            return _LARGEST.copy_sign(amount)
        return amount.quantize(_NANO, ROUND_UP) if amount % _NANO else amount


def nearest_quantity(text: str) -> str:
    """The quantity that was meant by a text with another unit, `4G` by `4GB`; empty if none was."""
    match = _COMMON_UNITS.fullmatch(text.strip())
    if match is None:
        return ""
    number, letter, binary = match["number"], match["letter"].upper(), match["binary"]
    unit = f"{letter}i" if binary else letter.replace("K", "k")
    return f"{number}{unit}"


def quantity_value(value: str | float) -> int:
    """The amount as a whole number, rounded away from zero, like Quantity's `Value()`.

    Raises:
        ValueError: when it is not a quantity; the message is a sentence.
    """
    return int(parse_quantity(value).to_integral_value(ROUND_UP))


def _decimal_text(nanos: int, notation: Notation) -> str:
    if not nanos:
        return "0"
    thousands = 0
    while nanos % 1000 == 0 and thousands < len(_DECIMAL) - 1:
        nanos //= 1000
        thousands += 1
    if notation is Notation.EXPONENT:
        power = 3 * thousands - 9
        return f"{nanos}e{power}" if power else str(nanos)
    return f"{nanos}{_DECIMAL[thousands]}"
