"""gang-policy: a runtime names one scheduler for its gangs."""

from collections.abc import Iterator
from typing import Final

from trainer_infra import names
from trainer_infra.render.scheduler import by_annotation
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Value, whole


def _check(runtime: Value, context: Context[Parameters]) -> Iterator[Finding]:
    policy = runtime.at("spec", "podGroupPolicy")
    volcano, scheduler = policy["volcano"], runtime.at("metadata", "annotations", names.SCHEDULER)
    has_coscheduling = policy["coscheduling"].is_there()
    if has_coscheduling and volcano.is_there():
        fix = "remove it or coscheduling: a pod has one scheduler"
        yield volcano.finding("stands beside coscheduling", None, fix)
    chosen = by_annotation(context.subject.behaviour.plugins).get(scheduler.text())
    if chosen and chosen.makes_gang and (has_coscheduling or volcano.is_there()):
        what = "names a scheduler that makes the gang itself, and there is a podGroupPolicy"
        yield scheduler.finding(what, scheduler.text(), "remove one of them")


RULE: Final = Rule(
    id="gang-policy",
    title="Runtimes name one gang scheduler",
    severity=Severity.HIGH,
    kinds=names.RUNTIMES,
    tags=("shape", "scheduling", "volcano"),
    why=(
        "Each of the two makes a PodGroup of the same name and waits for pods that the other has: "
        "none of them starts, or the gang is broken."
    ),
    fix="Keep one of coscheduling, volcano and the scheduler annotation.",
    places=whole,
    check=_check,
)
