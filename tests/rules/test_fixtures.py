"""Every rule says nothing of its good examples, and names the one field that makes the bad ones bad."""

from typing import Any

import pytest

from trainer_infra.rules import RULES, fixture, tree, world
from trainer_infra.rules.fixture import Case
from trainer_infra.rules.judge import Chosen, judge
from trainer_infra.rules.rule import AnyRule

CASES = [
    pytest.param(rule, case, id=f"{rule.id}: {case.name}")
    for rule in RULES
    for case in fixture.shipped(rule.id)
]


def found(rule: AnyRule, case: Case, *, is_good: bool) -> list[tuple[Any, ...]]:
    """Paths of what the rule finds in the first object."""
    subjects = tree.of(case.objects(is_good=is_good))
    if is_good:
        assert subjects[0].problems == ()
    chosen = Chosen(rule, rule.severity, rule.parameters(**(case.parameters or {})))
    judged = judge(subjects[0], world.of(subjects, case.pools, is_whole=True), [chosen])
    return [finding.path for each in judged for finding in each.findings]


@pytest.mark.parametrize(("rule", "case"), CASES)
def test_a_rule_finds_what_is_bad_and_nothing_else(rule: AnyRule, case: Case) -> None:
    assert found(rule, case, is_good=True) == []
    assert found(rule, case, is_good=False) == [case.bad.path]
