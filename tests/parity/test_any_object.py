"""What the schemas allow, beyond what the generator thinks of, is decided as the reference does.

Zero values ("", 0, false, {}, []) are left out of what is generated: the reference's Go types drop
most of them where we keep what is written, and to an API server both are the same.
"""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from tests.parity import comparison, defaults
from tests.parity.reference import Case
from tests.render import any_object

pytestmark = pytest.mark.verify


def without_zero_values(value: Any) -> Any:
    if isinstance(value, dict):
        fields = {key: without_zero_values(each) for key, each in value.items()}
        return {key: each for key, each in fields.items() if each or each is None}
    if isinstance(value, list):
        return [without_zero_values(each) for each in value]
    return value


def test_anything_that_the_schemas_allow_is_decided_as_the_reference_decides_it() -> None:
    cases: list[Case] = []

    @settings(max_examples=400, derandomize=True, suppress_health_check=list(HealthCheck))
    @given(any_object.train_jobs(), any_object.runtimes())
    def collect(job: dict[str, Any], runtime: dict[str, Any]) -> None:
        case = Case(
            train_job=defaults.applied(without_zero_values(job)),
            runtime=defaults.applied(without_zero_values(runtime)),
        )
        if comparison.is_valid(case):
            cases.append(case)

    collect()
    assert len(cases) >= 200
    assert list(comparison.disagreements(cases).values())[:3] == []
