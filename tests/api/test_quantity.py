"""Quantities: the grammar of Kubernetes, its rounding and its limits."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainer_infra.api import quantity

LARGEST = 2**63 - 1


@pytest.mark.parametrize(
    ("written", "amount"),
    [
        (0, "0"),
        (1, "1"),
        ("1", "1"),
        (1.5, "1.5"),
        (1e-7, "0.0000001"),
        ("500m", "0.5"),
        ("100u", "0.0001"),
        ("5n", "0.000000005"),
        ("2k", "2000"),
        ("3M", "3000000"),
        ("1G", "1000000000"),
        ("1T", "1000000000000"),
        ("1P", "1000000000000000"),
        ("1E", "1000000000000000000"),
        ("1Ki", "1024"),
        ("1.5Gi", "1610612736"),
        ("1Ei", "1152921504606846976"),
        ("1e3", "1000"),
        ("1E3", "1000"),
        ("1e-3", "0.001"),
        ("1.", "1"),
        (".5", "0.5"),
        ("+.5", "0.5"),
        ("-2", "-2"),
        ("0.1n", "0.000000001"),
        ("-0.1n", "-0.000000001"),
        ("1e-999999999", "0.000000001"),
        ("1e999999999", str(LARGEST)),
        ("-8Ei", str(-LARGEST)),
    ],
)
def test_a_quantity_is_an_exact_amount(written: str | float, amount: str) -> None:
    assert quantity.parse(written) == Decimal(amount)


@pytest.mark.parametrize(
    ("written", "whole"),
    [("1", 1), ("100m", 1), ("1001m", 2), ("-1500m", -2), ("1.5Ki", 1536), ("0", 0), (2.5, 3)],
)
def test_a_value_is_rounded_away_from_zero(written: str | float, whole: int) -> None:
    assert quantity.value(written) == whole


@pytest.mark.parametrize(
    "written",
    ["", " 1", "1 ", "four", "1mm", "1KI", "1ki", "e3", "1e", "1e1.5", ".", "٣", "1_0", "0x1"],
)
def test_what_is_no_quantity_is_refused_with_a_sentence(written: str) -> None:
    with pytest.raises(ValueError, match="no quantity") as caught:
        quantity.parse(written)
    assert str(caught.value) == (
        f"{written!r} is no quantity; write a number such as 1, 500m, 2.5 or 16Gi"
    )


@pytest.mark.parametrize("written", [True, float("nan"), float("inf")])
def test_what_is_no_number_is_no_quantity(written: float) -> None:
    with pytest.raises(ValueError, match="is no quantity"):
        quantity.parse(written)


@given(st.integers(-LARGEST, LARGEST), st.sampled_from(["", "m", "u", "n"]))
def test_thousandths_add_up(number: int, suffix: str) -> None:
    power = {"": 1, "m": 1000, "u": 10**6, "n": 10**9}[suffix]
    assert quantity.parse(f"{number}{suffix}") * power == number
