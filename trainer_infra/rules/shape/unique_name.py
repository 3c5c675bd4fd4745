"""unique-name: an object is written once in an environment."""

from collections.abc import Iterator
from typing import Final

from trainer_infra import names
from trainer_infra.rules import pod_templates
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Value, whole


def _check(value: Value, context: Context[Parameters]) -> Iterator[Finding]:
    if context.world.is_repeated(context.subject):
        name = value.at("metadata", "name")
        what = "is the name of another object of this kind that is written beside it"
        yield name.finding(what, name.text(), "keep one of them, or name this one otherwise")


RULE: Final = Rule(
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
    check=_check,
    looks_around=True,
)
