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
    assert quantity.parse_quantity(written) == Decimal(amount)


@pytest.mark.parametrize(
    ("written", "whole"),
    [("1", 1), ("100m", 1), ("1001m", 2), ("-1500m", -2), ("1.5Ki", 1536), ("0", 0), (2.5, 3)],
)
def test_a_value_is_rounded_away_from_zero(written: str | float, whole: int) -> None:
    assert quantity.quantity_value(written) == whole


@pytest.mark.parametrize(
    "written",
    ["", " 1", "1 ", "four", "1mm", "1KI", "1ki", "e3", "1e", "1e1.5", ".", "٣", "1_0", "0x1"],
)
def test_what_is_no_quantity_is_refused_with_a_sentence(written: str) -> None:
    with pytest.raises(ValueError, match="not a quantity") as caught:
        quantity.parse_quantity(written)
    assert str(caught.value) == (
        f"{written!r} is not a quantity; write a number such as 1, 500m, 2.5 or 16Gi"
    )


@pytest.mark.parametrize("written", [True, float("nan"), float("inf")])
def test_what_is_no_number_is_no_quantity(written: float) -> None:
    with pytest.raises(ValueError, match="is not a quantity"):
        quantity.parse_quantity(written)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("4GB", "4G"),
        ("4 GiB", "4Gi"),
        ("16gb", "16G"),
        ("500 mb", "500M"),
        ("1.5TiB", "1.5Ti"),
        ("2kb", "2k"),
        ("8KI", "8Ki"),
        ("four", ""),
        ("4 cores", ""),
    ],
)
def test_another_unit_is_near_a_quantity(written: str, meant: str) -> None:
    assert quantity.nearest_quantity(written) == meant
    if meant:
        quantity.parse_quantity(meant)


@given(st.integers(-LARGEST, LARGEST), st.sampled_from(["", "m", "u", "n"]))
def test_thousandths_add_up(number: int, suffix: str) -> None:
    power = {"": 1, "m": 1000, "u": 10**6, "n": 10**9}[suffix]
    assert quantity.parse_quantity(f"{number}{suffix}") * power == number


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("0", "0"),
        ("0Gi", "0"),
        ("32", "32"),
        (32, "32"),
        ("1.5", "1500m"),
        (1.5, "1500m"),
        ("0.001", "1m"),
        ("250u", "250u"),
        ("7n", "7n"),
        ("1000", "1k"),
        ("1025", "1025"),
        ("12000k", "12M"),
        ("1000E", "9223372036854775807"),
        ("-1500m", "-1500m"),
        ("1.5Gi", "1536Mi"),
        ("1024Mi", "1Gi"),
        ("1000Ki", "1000Ki"),
        ("0.5Ki", "512"),
        ("1.9Ki", "1945600m"),
        ("0.0001Ki", "102400u"),
        ("8Ei", "9223372036854775807"),
        ("1e3", "1e3"),
        ("15E2", "1500"),
        ("15e2", "1500"),
        ("1e-1", "100e-3"),
        ("2e2", "200"),
    ],
)
def test_a_quantity_is_written_in_kubernetes_canonical_form(
    written: str | float, canonical: str
) -> None:
    assert str(quantity.read_quantity(written)) == canonical


@pytest.mark.parametrize(
    ("first", "second", "total"),
    [
        ("1Gi", "512Mi", "1536Mi"),
        ("1Gi", "1M", "1074741824"),
        ("1M", "1Gi", "1074741824"),
        ("0", "2Gi", "2Gi"),
        ("2Gi", "0", "2Gi"),
        ("500m", "500m", "1"),
        ("100", "1e3", "1100"),
    ],
)
def test_a_sum_keeps_the_notation_of_the_first_amount_that_is_not_zero(
    first: str, second: str, total: str
) -> None:
    assert str(quantity.read_quantity(first) + quantity.read_quantity(second)) == total


def test_many_of_the_same_are_exact() -> None:
    assert str(quantity.read_quantity("100m").times(30)) == "3"
    assert str(quantity.read_quantity("1.5Gi").times(4)) == "6Gi"
    assert str(quantity.read_quantity("7n").times(3)) == "21n"


@given(
    st.integers(-LARGEST, LARGEST),
    st.sampled_from(["", "m", "u", "n", "k", "Ki", "Mi", "Gi", "e3", "e-4"]),
)
def test_the_canonical_form_is_the_same_amount_and_stays(number: int, suffix: str) -> None:
    once = quantity.read_quantity(f"{number}{suffix}")
    assert quantity.read_quantity(str(once)) == once
    assert quantity.parse_quantity(str(once)) == quantity.parse_quantity(f"{number}{suffix}")
