"""A rule tried as CrossGuard would ask it: over its wire, where numbers are floats.

What `trainer-infra rules test` runs beside the plain form, where Pulumi is installed: CrossGuard
itself has no way to test a pack without a deployment.
"""

from collections.abc import Sequence
from typing import Any

from google.protobuf.struct_pb2 import Struct
from pulumi.runtime.proto.analyzer_pb2 import AnalyzeRequest, AnalyzerResource, AnalyzeStackRequest

from trainer_infra.crossguard import policy_pack
from trainer_infra.crossguard.server import Servicer
from trainer_infra.json_values import JSONObject
from trainer_infra.review import rule_tests
from trainer_infra.rules.configuration import ResolvedConfiguration
from trainer_infra.rules.finding import Finding, Severity
from trainer_infra.rules.judge import ConfiguredRule
from trainer_infra.rules.pack import Pack, Selection, Setting
from trainer_infra.rules.pool import Pool


def crossguard_form(
    chosen: ConfiguredRule, objects: Sequence[JSONObject], pools: Sequence[Pool]
) -> tuple[Finding, ...]:
    """What the rule's policy reports of the first object of a stack of them all.

    A report is the finding of the plain form that says the same; one that says anything else is a
    finding without a place.
    """
    said = policy_messages(chosen, objects, pools)
    plain = {
        policy_pack.finding_message(each): each
        for each in rule_tests.plain_findings(chosen, objects, pools)
    }
    return tuple(plain.get(each, Finding((), each)) for each in said)


def policy_messages(
    chosen: ConfiguredRule, objects: Sequence[JSONObject], pools: Sequence[Pool]
) -> tuple[str, ...]:
    """What the policy reports."""
    servicer = Servicer("one", list(policy_pack.policies_of_pack(_settled(chosen, pools))))
    first, *others = objects
    sent = [_sent(index, each) for index, each in enumerate((*others, first))]
    answers = [servicer.Analyze(AnalyzeRequest(**each), None) for each in sent]
    stack = AnalyzeStackRequest(resources=[AnalyzerResource(**each) for each in sent])
    of_stack = servicer.AnalyzeStack(stack, None).diagnostics
    mine = (each for each in of_stack if each.urn == sent[-1]["urn"])
    found = (*answers[-1].diagnostics, *mine)
    return tuple(
        each.message.removeprefix(f"{each.description}\n")
        for each in found
        if each.policyName == chosen.rule.id
    )


def _settled(chosen: ConfiguredRule, pools: Sequence[Pool]) -> ResolvedConfiguration:
    rule = chosen.rule
    settings = {rule.id: Setting(parameters=chosen.parameters.to_wire())}
    selection = Selection(ids=(rule.id,))
    # What stops a deployment is said of each object; advice that a runtime gives cause for is said once.
    pack = Pack("one", "", selection, Severity.LOW, settings, (rule,))
    return ResolvedConfiguration(pack, tuple(pools), (), is_whole=True)


def _sent(index: int, value: JSONObject) -> dict[str, Any]:
    """What the engine sends of a resource of pulumi_kubernetes."""
    properties = Struct()
    properties.update(value)
    kind = f"kubernetes:{value.get('apiVersion', 'v1')}:{value['kind']}"
    return {"type": kind, "properties": properties, "urn": f"urn:{index}", "name": f"r{index}"}
