"""An object as it was written: that it is the only one, and what it exempts itself from."""

from collections.abc import Collection, Iterator
from typing import Final

from trainer_infra import names
from trainer_infra.rules import exemption, pod_templates
from trainer_infra.rules.exemption import Exemption, ExemptionLimits, State
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Value, whole


def _check_name(value: Value, context: Context[Parameters]) -> Iterator[Finding]:
    if context.world.is_repeated(context.subject):
        name = value.at("metadata", "name")
        what = "is the name of another object of this kind that is written beside it"
        yield name.finding(what, name.text(), "keep one of them, or name this one otherwise")


UNIQUE_NAME: Final = Rule(
    id="unique-name",
    title="An object is written once in an environment",
    severity=Severity.HIGH,
    kinds=pod_templates.WORKLOADS | names.QUEUEING_KINDS,
    tags=("shape",),
    why=(
        "The one that is applied last overwrites the other: which quota, image or queue holds is "
        "then chance, and what was judged may not be what is deployed."
    ),
    fix="Keep one of them; put what is for another cluster into a folder of its own.",
    places=whole,
    check=_check_name,
    looks_around=True,
)


def _check_exemptions(value: Value, context: Context[ExemptionLimits]) -> Iterator[Finding]:
    own = exemption.annotated_exemptions(context.subject).exemptions
    if not own:
        return
    from trainer_infra.rules import RULES  # noqa: PLC0415  it has this rule in it

    severities = {**{each.id: each.severity for each in RULES}, **context.severities()}
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


OWN_EXEMPTION: Final = Rule(
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
    check=_check_exemptions,
    parameters=ExemptionLimits,
)
"""The parameters are the pack's word: `exemption` reads them before an annotation excuses anything."""
