"""A rule tried as CrossGuard would ask it: through its proxies, with numbers as floats.

What `trainer-infra rules test` runs beside the plain form, where Pulumi is installed: CrossGuard
itself has no way to test a pack without a deployment.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

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

from trainer_infra.deploy import crossguard
from trainer_infra.review import trial
from trainer_infra.rules.configuration import Settled
from trainer_infra.rules.finding import Finding
from trainer_infra.rules.judge import Chosen
from trainer_infra.rules.pack import Pack, Selection, Setting
from trainer_infra.rules.pool import Pool

JSON = Mapping[str, Any]

_OPTIONS: Final = PolicyResourceOptions(
    protect=False,
    ignore_changes=[],
    delete_before_replace=None,
    aliases=[],
    custom_timeouts=PolicyCustomTimeouts(0, 0, 0),
    additional_secret_outputs=[],
    parent=None,
)


def form(chosen: Chosen, objects: Sequence[JSON], pools: Sequence[Pool]) -> tuple[Finding, ...]:
    """What the rule's policy reports of the first object of a stack of them all.

    A report is the finding of the plain form that says the same; one that says anything else is a
    finding without a place.
    """
    said = messages(chosen, objects, pools)
    plain = {crossguard.message(each): each for each in trial.plain(chosen, objects, pools)}
    return tuple(plain.get(each, Finding((), each)) for each in said)


def messages(chosen: Chosen, objects: Sequence[JSON], pools: Sequence[Pool]) -> tuple[str, ...]:
    """What the policy reports."""
    policy = _policy(chosen, pools)
    first, *others = objects
    resources = [_resource(index, each) for index, each in enumerate((*others, first))]
    mine, said = resources[-1].urn, list[str]()

    def report(message: str, urn: str | None = None) -> None:
        if urn == mine:
            said.append(message)

    for each in resources:
        if isinstance(policy, ResourceValidationPolicy):
            policy.validate(_arguments(each), partial(report, urn=each.urn))
    if isinstance(policy, StackValidationPolicy):
        policy.validate(StackValidationArgs(resources, None, {}), report)
    return tuple(said)


def _policy(chosen: Chosen, pools: Sequence[Pool]) -> Any:
    rule = chosen.rule
    settings = {rule.id: Setting(parameters=chosen.parameters.to_wire())}
    selection = Selection(ids=(rule.id,))
    pack = Pack("one", selection=selection, settings=settings, rules=(rule,))
    settled = Settled(pack, tuple(pools), (), is_whole=True)
    return next(each for each in crossguard.policies(settled) if each.name == rule.id)


def _resource(index: int, value: JSON) -> PolicyResource:
    kind = f"kubernetes:{value.get('apiVersion', 'v1')}:{value['kind']}"
    props = unknown_checking_proxy(_as_pulumi(value))
    return PolicyResource(kind, props, f"urn:{index}", f"r{index}", _OPTIONS, None, None, [], {})


def _arguments(each: PolicyResource) -> ResourceValidationArgs:
    kind, name = each.resource_type, each.name
    return ResourceValidationArgs(kind, each.props, each.urn, name, _OPTIONS, None, None, {})


def _as_pulumi(value: Any) -> Any:
    """JSON as the engine hands it over: every number is a float."""
    if isinstance(value, Mapping):
        return {key: _as_pulumi(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_as_pulumi(each) for each in value]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value
