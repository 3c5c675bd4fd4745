"""Rules say whether they look at other objects: `--changed-from` and stack policies ask those again."""

from typing import NoReturn

import pytest
from typing_extensions import override

from trainer_infra.rules import RULES, fixture, tree
from trainer_infra.rules.judge import ConfiguredRule, judge
from trainer_infra.rules.rule import AnyRule
from trainer_infra.rules.subject import Subject
from trainer_infra.rules.world import NOWHERE, World, world_of

RUNTIME_ALONE = [each for each in RULES if not each.looks_around]


class Closed(World):
    """A world that no rule may look into."""

    @override
    def of_kind(self, kind: str, namespace: str | None = None) -> NoReturn:
        raise AssertionError(kind)

    @override
    def named(self, kind: str, name: str, namespace: str | None = None) -> NoReturn:
        raise AssertionError(kind)

    @override
    def get(self, kind: str, name: str, namespace: str = NOWHERE) -> NoReturn:
        raise AssertionError(kind)

    @override
    def is_repeated(self, subject: Subject) -> NoReturn:
        raise AssertionError(subject.kind)


@pytest.mark.parametrize("rule", RUNTIME_ALONE, ids=lambda each: each.id)
def test_a_rule_that_does_not_say_so_looks_at_no_other_object(rule: AnyRule) -> None:
    for case in fixture.shipped_cases(rule.id):
        parameters = rule.parameters(**(case.parameters or {}))
        chosen = ConfiguredRule(rule, rule.severity, parameters)
        for is_good in (True, False):
            subject, *others = tree.subjects_of(case.objects(is_good=is_good))
            world = world_of((subject, *others), case.pools or ())
            closed = Closed(world.subjects, world.pools, world.is_whole)
            assert len([*judge(subject, closed, [chosen])]) < 2
