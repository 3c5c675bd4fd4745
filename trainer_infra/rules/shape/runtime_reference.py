"""The runtime that a TrainJob names."""

from collections.abc import Iterator
from typing import Final

from trainer_infra import catalog, names
from trainer_infra.rules.rendering import REFERENCE
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Value
from trainer_infra.rules.value import UNKNOWN, UnseenValue


class RuntimeExists(Parameters):
    """What runtimes there are that a check does not see."""

    judged_elsewhere: tuple[str, ...] = ()
    """Names of runtimes of either kind that are in the cluster, and that another check judges. Of a
    TrainJob on one of them, rules see what it says itself; the report lists what they did not see."""


def _check_existence(job: Value, context: Context[RuntimeExists]) -> Iterator[Finding]:
    reference = job.at("spec", "runtimeRef")
    group, kind = reference["apiGroup"], reference["kind"]
    if group.text() not in {"", names.GROUP}:
        yield group.finding("is not the group of runtimes", group.text(), f"write {names.GROUP}")
    elif kind.text() and kind.text() not in names.RUNTIMES:
        fix = f"write {' or '.join(sorted(names.RUNTIMES))}"
        yield kind.finding("is not a kind of runtime", kind.text(), fix)
    else:
        yield from _of_name(reference["name"], context)


def _of_name(name: Value, context: Context[RuntimeExists]) -> Iterator[Finding]:
    wanted, subject = name.text(), context.subject
    is_known = wanted in context.parameters.judged_elsewhere
    if subject.runtime is not None or not wanted or is_known or _may_be_another(context):
        return
    nowhere = "neither in the cluster nor in the catalog"
    unseen = "neither in what is checked nor in the catalog"
    what = f"names a runtime that is {nowhere if context.world.is_whole else unseen}"
    yield name.finding(what, wanted, _advice(wanted, context))


def _may_be_another(context: Context[RuntimeExists]) -> bool:
    """Whether a runtime that there is may be meant: its name is not known, or a namespace not said."""
    reference = context.subject.object.at("spec", "runtimeRef")
    kind = reference["kind"].text() or names.CLUSTER_TRAINING_RUNTIME
    own = context.subject.object.at("metadata", "namespace").text()
    unnamed, same = (context.world.named(kind, each) for each in ("", reference["name"].text()))
    return any(each.object.at("metadata", "name").raw is UNKNOWN for each in unnamed) or any(
        not own or not each.namespace for each in same
    )


def _advice(wanted: str, context: Context[RuntimeExists]) -> str:
    """The runtime of that name of the other kind or in another namespace, else the catalog's."""
    for kind in sorted(names.RUNTIMES):
        for each in context.world.named(kind, wanted)[:1]:
            where = f" in namespace {each.namespace}" if each.namespace else ""
            return f"there is a {kind} of that name{where}"
    if catalog.shipped(wanted) is not None:
        return "leave `kind` out to use the catalog's"
    known = catalog.advice(wanted)
    if known.startswith("did you mean"):
        return known
    return "add it to what is checked; where another check judges it, list it in judgedElsewhere"


RUNTIME_EXISTS: Final = Rule(
    id="runtime-exists",
    title="A TrainJob's runtime must exist",
    severity=Severity.HIGH,
    kinds=frozenset((names.TRAIN_JOB,)),
    tags=("shape",),
    why="The trainer's admission rejects a TrainJob whose runtime does not exist yet.",
    fix="Add the runtime, correct its name, or, if another check covers it, list it in `judgedElsewhere`.",
    check=_check_existence,
    looks_around=True,
    parameters=RuntimeExists,
)


def _check_support(job: Value, context: Context[Parameters]) -> Iterator[Finding]:
    runtime = context.subject.runtime
    if runtime is None:
        raise UnseenValue(REFERENCE)
    labels, name = runtime.at("metadata", "labels"), job.at("spec", "runtimeRef", "name")
    is_old = labels[names.SUPPORT_LABEL].text() == names.SUPPORT_DEPRECATED
    if is_old or labels[names.DEPRECATED_LABEL].text() == "true":
        framework = labels[names.FRAMEWORK_LABEL].text()
        same = (each.name for each in catalog.RUNTIMES if each.framework == framework)
        others = [each for each in same if each != name.text()]
        fix = f"use {' or '.join(others)}" if others else "ask its owner what replaces it"
        what = "names a runtime that is deprecated and will be removed"
        yield name.finding(what, name.text(), fix)


RUNTIME_DEPRECATED: Final = Rule(
    id="runtime-deprecated",
    title="TrainJobs should not use deprecated runtimes",
    severity=Severity.LOW,
    kinds=frozenset((names.TRAIN_JOB,)),
    tags=("shape",),
    why="A future release of the trainer will remove the runtime.",
    fix=(
        "Name another runtime; see the policy at "
        "https://trainer.kubeflow.org/en/latest/operator-guides/runtime.html#runtime-deprecation-policy."
    ),
    check=_check_support,
)
