"""runtime-deprecated: a TrainJob runs on a runtime that stays."""

from collections.abc import Iterator
from typing import Final

from trainer_infra import catalog, names
from trainer_infra.rules.rendering import REFERENCE
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Value, whole
from trainer_infra.rules.value import UnseenValue


def _check(job: Value, context: Context[Parameters]) -> Iterator[Finding]:
    runtime = context.subject.runtime
    if runtime is None:
        raise UnseenValue(REFERENCE)
    if runtime["kind"].text() != names.CLUSTER_TRAINING_RUNTIME:
        return
    labels, name = runtime.at("metadata", "labels"), job.at("spec", "runtimeRef", "name")
    if labels[names.SUPPORT_LABEL].text() == names.SUPPORT_DEPRECATED:
        fix = _advice(name.text(), labels[names.FRAMEWORK_LABEL].text())
        yield name.finding(
            "names a runtime that is deprecated and will be removed", name.text(), fix
        )


def _advice(name: str, framework: str) -> str:
    """Runtimes of the catalog for the same framework."""
    others = [
        each.name for each in catalog.RUNTIMES if each.framework == framework and each.name != name
    ]
    return f"use {' or '.join(others)}" if others else "ask its owner what replaces it"


RULE: Final = Rule(
    id="runtime-deprecated",
    title="TrainJobs run on runtimes that are not deprecated",
    severity=Severity.LOW,
    kinds=frozenset((names.TRAIN_JOB,)),
    tags=("shape",),
    why="A release of the trainer to come does not have the runtime any more.",
    fix=f"Name another runtime; the policy is {names.DEPRECATION_POLICY}.",
    places=whole,
    check=_check,
)
