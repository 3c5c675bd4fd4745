"""What a change makes of objects that it does not touch is told, whatever rule looks at others."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest

from tests.review import checked
from trainer_infra.json_values import JSONObject
from trainer_infra.review import changed_files, check
from trainer_infra.review.check import CheckScope, Reach
from trainer_infra.review.documents import Document
from trainer_infra.review.report import Item, Report
from trainer_infra.rules import RULES, fixture
from trainer_infra.rules.configuration import ResolvedConfiguration
from trainer_infra.rules.fixture import Case
from trainer_infra.rules.rule import AnyRule

LOOKING = [each for each in RULES if each.looks_around]


def documents(objects: Sequence[JSONObject]) -> tuple[Document, ...]:
    return tuple(
        checked.document(dict(each), f"{index}.yaml") for index, each in enumerate(objects)
    )


def of_change(
    then: Sequence[Document], now: Sequence[Document], settled: ResolvedConfiguration
) -> Report:
    """As the command judges it."""
    scope = CheckScope(settled, checked.TODAY)
    reach = changed_files.reach_of_change(now, then)
    gone = {Reach.CHANGED: Reach.GONE}
    back = {at: gone.get(e, e) for at, e in changed_files.reach_of_change(then, now).items()}
    before = check.check_documents(then, replace(scope, reach=back))
    return changed_files.without_known(
        check.check_documents(now, replace(scope, reach=reach)), before
    )


def said(items: Sequence[Item]) -> Counter[tuple[str, str, str, str]]:
    return Counter((each.rule.id, each.name, each.path, each.what) for each in items)


def changes(case: Case) -> Iterator[tuple[Sequence[JSONObject], Sequence[JSONObject]]]:
    """Both examples, and each without one of the objects that are around the first."""
    both = [case.objects(is_good=each) for each in (True, False)]
    yield both[0], both[1]
    yield both[1], both[0]
    for objects in both:
        for gone in range(len(objects)):
            fewer = [each for index, each in enumerate(objects) if index != gone]
            yield objects, fewer
            yield fewer, objects


@pytest.mark.parametrize("rule", LOOKING, ids=lambda each: each.id)
def test_what_is_new_of_an_unchanged_object_is_told_and_nothing_else(rule: AnyRule) -> None:
    for case in fixture.shipped_cases(rule.id):
        settings = {rule.id: {"parameters": case.parameters}} if case.parameters else {}
        settled = checked.by(rule.id, rules=settings, pools=case.pools or (), isWhole=True)
        for one, other in changes(case):
            then, now = documents(one), documents(other)
            scope = CheckScope(settled, checked.TODAY)
            before, after = (check.check_documents(each, scope) for each in (then, now))
            reach = changed_files.reach_of_change(now, then)
            files = {now[at].file for at, each in reach.items() if each != Reach.CHANGED}
            own = [each for each in after.items if each.place.file in files]
            told = of_change(then, now, settled).items
            assert said([each for each in told if each.is_unchanged]) == said(own) - said(
                before.items
            )


def test_something_of_each_rule_is_new_by_a_change_of_others() -> None:
    told = set()
    for rule in LOOKING:
        for case in fixture.shipped_cases(rule.id):
            settings = {rule.id: {"parameters": case.parameters}} if case.parameters else {}
            settled = checked.by(rule.id, rules=settings, pools=case.pools or (), isWhole=True)
            for one, other in changes(case):
                report = of_change(documents(one), documents(other), settled)
                told |= {each.rule.id for each in report.items if each.is_unchanged}
    assert len(told) > len(LOOKING) // 2
