"""Every rule says the same through CrossGuard's proxies as it says of plain objects."""

from functools import partial
from typing import Any

import pytest
from pulumi_policy import (
    PolicyCustomTimeouts,
    PolicyResource,
    PolicyResourceOptions,
    ResourceValidationArgs,
    ResourceValidationPolicy,
    StackValidationArgs,
    StackValidationPolicy,
)
from pulumi_policy.proxy import unknown_checking_proxy

from trainer_infra.api.finding import path_text
from trainer_infra.deploy import crossguard
from trainer_infra.rules import RULES, fixture
from trainer_infra.rules.configuration import Settled
from trainer_infra.rules.fixture import Case
from trainer_infra.rules.pack import Pack, Selection, Setting
from trainer_infra.rules.rule import AnyRule

CASES = [
    pytest.param(rule, case, id=f"{rule.id}: {case.name}")
    for rule in RULES
    for case in fixture.shipped(rule.id)
]
OPTIONS = PolicyResourceOptions(
    protect=False,
    ignore_changes=[],
    delete_before_replace=None,
    aliases=[],
    custom_timeouts=PolicyCustomTimeouts(0, 0, 0),
    additional_secret_outputs=[],
    parent=None,
)


def as_pulumi(value: Any) -> Any:
    """JSON as the engine hands it over: every number is a float."""
    if isinstance(value, bool) or not isinstance(value, int | float | dict | list | tuple):
        return value
    if isinstance(value, dict):
        return {key: as_pulumi(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [as_pulumi(each) for each in value]
    return float(value)


def messages(rule: AnyRule, case: Case, *, is_good: bool) -> list[str]:
    """What the rule's policy reports of the first object of a stack of them all."""
    setting = Setting(parameters=case.parameters)
    pack = Pack("one", selection=Selection(ids=(rule.id,)), settings={rule.id: setting})
    settled = Settled(pack, case.pools, (), is_whole=True)
    policy = next(each for each in crossguard.policies(settled) if each.name == rule.id)
    first, *others = case.objects(is_good=is_good)
    resources = [resource(index, each) for index, each in enumerate((*others, first))]
    mine = resources[-1].urn
    said: list[str] = []

    def report(message: str, urn: str | None = None) -> None:
        if urn == mine:
            said.append(message)

    for each in resources:
        if isinstance(policy, ResourceValidationPolicy):
            policy.validate(arguments(each), partial(report, urn=each.urn))
    if isinstance(policy, StackValidationPolicy):
        policy.validate(StackValidationArgs(resources, None, {}), report)
    return said


def arguments(each: PolicyResource) -> ResourceValidationArgs:
    kind, name = each.resource_type, each.name
    return ResourceValidationArgs(kind, each.props, each.urn, name, OPTIONS, None, None, {})


def resource(index: int, value: Any) -> PolicyResource:
    kind = f"kubernetes:{value.get('apiVersion', 'v1')}:{value['kind']}"
    props = unknown_checking_proxy(as_pulumi(value))
    return PolicyResource(kind, props, f"urn:{index}", f"r{index}", OPTIONS, None, None, [], {})


@pytest.mark.parametrize(("rule", "case"), CASES)
def test_a_policy_reports_what_is_bad_and_nothing_else(rule: AnyRule, case: Case) -> None:
    assert messages(rule, case, is_good=True) == []

    [message] = messages(rule, case, is_good=False)

    assert message.startswith(f"{path_text(case.bad.path)}: ")
