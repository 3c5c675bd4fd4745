"""own-exemption: what an object's annotations exempt it from is what the pack allows.

The parameters are the pack's word: `exemption` reads them before an annotation excuses anything.
"""

from collections.abc import Collection, Iterator
from typing import Final

from trainer_infra import names
from trainer_infra.rules import exemption, pod_templates
from trainer_infra.rules.exemption import Exemption, ExemptionLimits, State
from trainer_infra.rules.rule import Context, Finding, Rule, Severity, Value, whole


def _check(value: Value, context: Context[ExemptionLimits]) -> Iterator[Finding]:
    own = exemption.annotated_exemptions(context.subject).exemptions
    if not own:
        return
    severities = {**_shipped(), **context.severities()}
    for each in own:
        where = value.at("metadata", "annotations", exemption.PREFIX + each.rule)
        what = _mistake(each, context, severities.keys())
        if not what and context.today is not None:
            severity = severities[each.rule]
            what = context.parameters.refusal(severity, each.expires, context.today)
        if what:
            yield where.finding(what, each.rule, "take it away, or ask who answers for the policy")


def _mistake(each: Exemption, context: Context[ExemptionLimits], known: Collection[str]) -> str:
    if each.rule not in known:
        return "exempts from no rule that there is"
    if each.rule == exemption.OWN:
        return "exempts from the rule about such annotations"
    if context.today is not None and each.state(context.today) == State.EXPIRED:
        return f"expired on {each.expires}, and excuses nothing"
    return ""


def _shipped() -> dict[str, Severity]:
    """How bad findings of all our rules are, this one among them."""
    from trainer_infra.rules import RULES  # noqa: PLC0415  it has this rule in it

    return {each.id: each.severity for each in RULES}


RULE: Final = Rule(
    id=exemption.OWN,
    title="Annotations exempt an object as far as the pack allows",
    severity=Severity.MEDIUM,
    kinds=pod_templates.WORKLOADS | names.QUEUEING_KINDS,
    tags=("shape", "exemptions"),
    why=(
        "Who is judged would excuse himself: from anything, for ever, or by a misspelt rule that "
        "he takes for exempt."
    ),
    fix="Correct the annotation, or put the exemption into the configuration of the policy.",
    places=whole,
    check=_check,
    parameters=ExemptionLimits,
)
