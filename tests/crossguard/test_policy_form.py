"""A rule says the same through CrossGuard's wire as it says of plain objects: once for each kind of value.

What differs is the form of values, which has nothing to do with the rule: one example of each kind
shows it. That every example is the same in both forms is shown by `rules test` (tests/cli/test_rules.py).
"""

from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest
from pulumi_policy import proxy
from pulumi_policy.deserialize import SPECIAL_SECRET_SIG, SPECIAL_SIG_KEY

from trainer_infra.api.finding import path_text
from trainer_infra.crossguard import policy_form
from trainer_infra.rules import RULES, fixture
from trainer_infra.rules.fixture import Case
from trainer_infra.rules.judge import ConfiguredRule

KINDS: Final[dict[str, Callable[[Case], bool]]] = {
    "a text": lambda case: isinstance(case.bad.value, str),
    "a whole number": lambda case: type(case.bad.value) is int,
    "a fraction": lambda case: isinstance(case.bad.value, float),
    "a boolean": lambda case: isinstance(case.bad.value, bool),
    "a list": lambda case: isinstance(case.bad.value, list),
    "an object": lambda case: isinstance(case.bad.value, dict),
    "nothing": lambda case: case.bad.value is None,
    "an item of a list": lambda case: isinstance(case.bad.path[-1], int),
    "a field of the object itself": lambda case: len(case.bad.path) == 1,
    "an object beside others": lambda case: len(case.good) > 2,
    "an object on pools": lambda case: bool(case.pools),
    "an object by a rule with parameters": lambda case: case.parameters is not None,
    "a queue": lambda case: case.good[0]["kind"] == "ClusterQueue",
    "a workload without a TrainJob": lambda case: case.good[0]["kind"] == "Deployment",
}
"""What the engine sends in a form of its own, or with more than the object itself."""
UNKNOWN: Final = {
    "text": proxy.UNKNOWN_STRING_VALUE,
    "number": proxy.UNKNOWN_NUMBER_VALUE,
    "list": proxy.UNKNOWN_ARRAY_VALUE,
    "object": proxy.UNKNOWN_OBJECT_VALUE,
}


def examples(is_of_kind: Callable[[Case], bool]) -> Iterator[tuple[ConfiguredRule, Case]]:
    """The cases of the kind, each with its rule as the case has it set."""
    for rule in RULES:
        for case in filter(is_of_kind, fixture.shipped_cases(rule.id)):
            parameters: Any = rule.parameters(**(case.parameters or {}))
            yield ConfiguredRule(rule, rule.severity, parameters), case


@pytest.mark.parametrize("kind", KINDS)
def test_a_policy_reports_what_is_bad_and_nothing_else(kind: str) -> None:
    chosen, case = next(examples(KINDS[kind]))
    good, bad = (case.objects(is_good=is_good) for is_good in (True, False))
    assert policy_form.policy_messages(chosen, good, case.pools) == ()

    [finding] = policy_form.crossguard_form(chosen, bad, case.pools)

    assert finding.path == case.bad.path
    (message,) = policy_form.policy_messages(chosen, bad, case.pools)
    assert message.startswith(f"{path_text(case.bad.path)}: ")


@pytest.mark.parametrize("kind", UNKNOWN)
def test_a_policy_reports_nothing_of_what_is_not_known(kind: str) -> None:
    chosen, case = next(examples(KINDS["a text"]))
    first, *others = case.objects(is_good=True)
    objects = (fixture.with_value_at(first, case.bad.path, UNKNOWN[kind]), *others)
    assert policy_form.policy_messages(chosen, objects, case.pools) == ()


def test_a_policy_reports_of_a_secret_what_it_reports_of_its_value() -> None:
    chosen, case = next(examples(KINDS["a text"]))
    first, *others = case.objects(is_good=False)
    secret = {SPECIAL_SIG_KEY: SPECIAL_SECRET_SIG, "value": case.bad.value}
    objects = (fixture.with_value_at(first, case.bad.path, secret), *others)
    said = policy_form.policy_messages(chosen, (first, *others), case.pools)
    assert policy_form.policy_messages(chosen, objects, case.pools) == said != ()
