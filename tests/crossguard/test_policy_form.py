"""Every rule says the same through CrossGuard's proxies as it says of plain objects."""

from typing import Any

import pytest

from trainer_infra.api.finding import path_text
from trainer_infra.crossguard import policy_form
from trainer_infra.rules import RULES, fixture
from trainer_infra.rules.fixture import Case
from trainer_infra.rules.judge import ConfiguredRule
from trainer_infra.rules.rule import AnyRule

CASES = [
    pytest.param(rule, case, id=f"{rule.id}: {case.name}")
    for rule in RULES
    for case in fixture.shipped_cases(rule.id)
]


@pytest.mark.parametrize(("rule", "case"), CASES)
def test_a_policy_reports_what_is_bad_and_nothing_else(rule: AnyRule, case: Case) -> None:
    parameters: Any = rule.parameters(**(case.parameters or {}))
    chosen = ConfiguredRule(rule, rule.severity, parameters)
    good, bad = (case.objects(is_good=is_good) for is_good in (True, False))
    assert policy_form.policy_messages(chosen, good, case.pools) == ()

    [finding] = policy_form.crossguard_form(chosen, bad, case.pools)

    assert finding.path == case.bad.path
    (message,) = policy_form.policy_messages(chosen, bad, case.pools)
    assert message.startswith(f"{path_text(case.bad.path)}: ")
