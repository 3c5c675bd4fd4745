"""Every rule says nothing of its good examples, and names the one field that makes the bad ones bad."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from trainer_infra import rules
from trainer_infra.rules import RULES, fixture, patch, tree, world
from trainer_infra.rules.finding import Finding
from trainer_infra.rules.fixture import Case
from trainer_infra.rules.judge import ConfiguredRule, judge
from trainer_infra.rules.rule import AnyRule

JSON = Mapping[str, Any]

GROUPS = {
    rule.id: Path(group).name.replace("_", "-")
    for group in sorted(Path(rules.__file__).parent.iterdir())
    for rule in getattr(getattr(rules, Path(group).name, None), "RULES", ())
}
"""Folder of each rule."""


def found(rule: AnyRule, case: Case, objects: Sequence[JSON]) -> list[Finding]:
    """What the rule finds in the first object."""
    subjects = tree.subjects_of(objects)
    chosen = ConfiguredRule(rule, rule.severity, rule.parameters(**(case.parameters or {})))
    judged = judge(subjects[0], world.world_of(subjects, case.pools, is_whole=True), [chosen])
    return [finding for each in judged for finding in each.findings]


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_rule_finds_what_is_bad_and_nothing_else(rule: AnyRule) -> None:
    cases = fixture.shipped_cases(rule.id)
    good, bad = (
        {each.name: each.objects(is_good=is_good) for each in cases} for is_good in (True, False)
    )
    judged = {
        each.name: (found(rule, each, good[each.name]), paths(found(rule, each, bad[each.name])))
        for each in cases
    }
    assert judged == {each.name: ([], [each.bad.path]) for each in cases}
    assert {name: tree.subjects_of(each)[0].problems for name, each in good.items()} == {
        each.name: () for each in cases
    }


def paths(findings: Sequence[Finding]) -> list[tuple[str | int, ...]]:
    return [each.path for each in findings]


@pytest.mark.parametrize(
    "rule", [each for each in RULES if each.remediates], ids=lambda rule: rule.id
)
def test_a_patch_makes_it_right(rule: AnyRule) -> None:
    left = {}
    for case in fixture.shipped_cases(rule.id):
        first, *others = case.objects(is_good=False)
        for finding in found(rule, case, (first, *others)):
            if finding.patch:
                fixed = patch.apply_patch(first, finding.patch)
                left[case.name] = (fixed == first, found(rule, case, (fixed, *others)))
    assert left
    assert left == dict.fromkeys(left, (False, []))


def test_rules_that_remediate_show_a_patch() -> None:
    shown = {
        rule.id
        for rule in RULES
        for case in fixture.shipped_cases(rule.id)
        for finding in found(rule, case, case.objects(is_good=False))
        if finding.patch
    }
    assert {each.id for each in RULES if each.remediates} == shown


def test_each_rule_has_examples_and_each_example_a_rule() -> None:
    files = [each.stem for each in fixture.FOLDER.iterdir()]
    assert Counter(files) == Counter(each.id for each in RULES)
    assert {rule.id for rule in RULES if not fixture.shipped_cases(rule.id)} == set()


def test_tags_begin_with_the_group() -> None:
    assert {rule.id: rule.tags[0] for rule in RULES} == GROUPS
