"""Each rule of the table has a case on each implementation, and nothing else is left out."""

import re
from collections.abc import Iterable

import pytest

from tests.conformance.implementations import IMPLEMENTATIONS, Apart
from tests.conformance.rule_cases import ROOT, RuleCase, rule_cases
from tests.conformance.rules import RULES, Rule
from trainer_infra.render.deviation import Deviation

THIS_FILE = "test_rules.py"
COMPATIBILITY = (ROOT / "docs" / "compatibility.md").read_text()


@pytest.fixture(scope="module")
def cases() -> list[RuleCase]:
    return [each for each in rule_cases() if THIS_FILE not in each.name]


def without_case(rules: Iterable[Rule], cases: Iterable[RuleCase]) -> list[tuple[str, str]]:
    """Rules and implementations on which no test tries them."""
    tried = {(each, case.implementation) for case in cases for each in case.rules}
    wanted = [(rule.id, each.name) for rule in rules for each in IMPLEMENTATIONS]
    return [each for each in wanted if each not in tried]


def test_each_rule_has_a_case_on_each_implementation(cases: list[RuleCase]) -> None:
    assert without_case(RULES, cases) == []


def test_a_rule_without_a_case_is_missed(cases: list[RuleCase]) -> None:
    new = Rule("6-new", "A rule that no test has.")
    assert without_case((*RULES, new), cases) == [("6-new", each.name) for each in IMPLEMENTATIONS]


def test_each_test_tries_a_rule_of_the_table(cases: list[RuleCase]) -> None:
    assert [each.name for each in cases if not each.rules] == []
    assert {each for case in cases for each in case.rules} - {each.id for each in RULES} == set()


def test_no_test_is_skipped_or_meant_to_fail(cases: list[RuleCase]) -> None:
    assert [each.name for each in cases if each.skipped] == []


def test_the_table_is_in_order_and_each_id_is_there_once() -> None:
    ids = [each.id for each in RULES]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch(r"\d(\.\d)?-[a-z]+(-[a-z]+)*", each) for each in ids)
    sections = [each.section for each in RULES]
    assert sections == sorted(sections)
    assert {each for each in sections if each[0] in "456"} == {
        *(f"4.{number}" for number in range(1, 10)),
        *("5", "5.1", "5.2", "5.3", "6"),
    }
    assert [each for each in RULES if not re.fullmatch(r"\w.*\.", each.sentence)] == []


def test_each_difference_has_a_row_in_the_documentation(cases: list[RuleCase]) -> None:
    named = {each for case in cases for each in case.differences}
    assert named <= {*Deviation, *Apart}
    assert [each for each in sorted(named) if f"\n| {each} |" not in COMPATIBILITY] == []
    apart = COMPATIBILITY.partition("## Apart from any switch")[2].partition("\n## ")[0]
    assert [each for each in Apart if f"\n| {each} |" not in apart] == []
