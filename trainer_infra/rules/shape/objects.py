"""An object as it was written: that it is the only one, and what it exempts itself from."""

from collections.abc import Collection, Iterator
from typing import Final

from trainer_infra import names
from trainer_infra.rules import exemption, pods
from trainer_infra.rules.exemption import Exemption, ExemptionLimits, State
from trainer_infra.rules.rule import (
    EVERY_KIND,
    Context,
    Finding,
    Parameters,
    Rule,
    Severity,
    Value,
)


def _check_name(value: Value, context: Context[Parameters]) -> Iterator[Finding]:
    if context.world.is_repeated(context.subject):
        name = value.at("metadata", "name")
        what = "is the name of another object of this kind that is written beside it"
        yield name.finding(what, name.text(), "keep one of them, or name this one otherwise")


UNIQUE_NAME: Final = Rule(
    id="unique-name",
    title="An object must be defined once per environment",
    severity=Severity.HIGH,
    kinds=pods.WORKLOADS | names.QUEUEING_KINDS,
    tags=("shape",),
    why=(
        "The object applied last overwrites the other. Which quota, image or queue takes effect is "
        "then a matter of chance, and what was checked may not be what is deployed."
    ),
    fix="Keep one of them; put objects for another cluster into a folder of their own.",
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
        return "names no known rule"
    if each.rule == exemption.OWN:
        return "exempts from the rule about such annotations"
    if context.today is not None and each.state(context.today) == State.EXPIRED:
        return f"expired on {each.expires}, and excuses nothing"
    return ""


OWN_EXEMPTION: Final = Rule(
    id=exemption.OWN,
    title="Annotations may exempt an object only as far as the pack allows",
    severity=Severity.MEDIUM,
    kinds=pods.WORKLOADS | names.QUEUEING_KINDS | {EVERY_KIND},
    tags=("shape", "exemptions"),
    why=(
        "The author of an object could exempt it from anything, forever, or believe that a "
        "misspelled rule is exempt."
    ),
    fix="Correct the annotation, or put the exemption into the policy's configuration.",
    check=_check_exemptions,
    parameters=ExemptionLimits,
)
"""The parameters are the pack's word: `exemption` reads them before an annotation excuses anything."""
