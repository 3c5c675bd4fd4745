"""Cases of which every run of the tests tries some, and `make soak` the others."""

from collections.abc import Iterable

import pytest
from _pytest.mark.structures import ParameterSet


def sampled(cases: Iterable[str], every: int) -> list[ParameterSet]:
    """Parameters: the first of each `every` cases as it is, the others marked `soak`."""
    return [
        pytest.param(each, marks=[pytest.mark.soak] if index % every else [])
        for index, each in enumerate(cases)
    ]
