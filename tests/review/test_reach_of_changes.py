"""What a change makes of objects that it does not touch is told, whatever rule looks at others."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache

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

Objects = Sequence[JSONObject]
LOOKING = [each for each in RULES if each.looks_around]


def documents(objects: Sequence[JSONObject]) -> tuple[Document, ...]:
    return tuple(
        checked.document(dict(each), f"{index}.yaml") for index, each in enumerate(objects)
    )


def wrapped(objects: Sequence[JSONObject]) -> Sequence[JSONObject]:
    """Each of them in an object of its own."""
    head = {"apiVersion": "workload.codeflare.dev/v1beta2", "kind": "AppWrapper"}
    return [
        {
            **head,
            "metadata": {"name": f"w{index}"},
            "spec": {"components": [{"template": {"metadata": {}, **each}}]},
        }
        for index, each in enumerate(objects)
    ]


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


def changes(case: Case) -> Iterator[tuple[Objects, Objects]]:
    """Both examples, and each without one of the objects that are around the first."""
    both = [case.objects(is_good=each) for each in (True, False)]
    yield both[0], both[1]
    yield both[1], both[0]
    for objects in both:
        for gone in range(len(objects)):
            fewer = [each for index, each in enumerate(objects) if index != gone]
            yield objects, fewer
            yield fewer, objects


@cache
def told(rule: str) -> Sequence[tuple[Objects, Objects, ResolvedConfiguration, Report]]:
    """Each change of a rule's examples, and what is told of it."""
    found = []
    for case in fixture.shipped_cases(rule):
        settings = {rule: {"parameters": case.parameters}} if case.parameters else {}
        settled = checked.by(rule, rules=settings, pools=case.pools or (), isWhole=True)
        for one, other in changes(case):
            report = of_change(documents(one), documents(other), settled)
            found.append((one, other, settled, report))
    return found


@pytest.mark.parametrize("rule", LOOKING, ids=lambda each: each.id)
def test_what_is_new_of_an_unchanged_object_is_told_and_nothing_else(rule: AnyRule) -> None:
    for one, other, settled, report in told(rule.id):
        assert_new(documents(one), documents(other), settled, report)
        then, now = documents(wrapped(one)), documents(wrapped(other))
        assert_new(then, now, settled, of_change(then, now, settled))


def assert_new(
    then: Sequence[Document],
    now: Sequence[Document],
    settled: ResolvedConfiguration,
    report: Report,
) -> None:
    """It is told of unchanged objects what was not so before."""
    scope = CheckScope(settled, checked.TODAY)
    before, after = (check.check_documents(each, scope) for each in (then, now))
    reach = changed_files.reach_of_change(now, then)
    files = {now[at].file for at, each in reach.items() if each != Reach.CHANGED}
    own = [each for each in after.items if each.place.file in files]
    unchanged = [each for each in report.items if each.is_unchanged]
    assert said(unchanged) == said(own) - said(before.items)


def test_something_of_each_rule_is_new_by_a_change_of_others() -> None:
    new = {
        each.rule.id
        for rule in LOOKING
        for *_, report in told(rule.id)
        for each in report.items
        if each.is_unchanged
    }
    assert len(new) > len(LOOKING) // 2
