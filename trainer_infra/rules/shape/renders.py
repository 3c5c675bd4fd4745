"""Why a TrainJob renders to nothing, for the rules that say it: `renders` and `jobset-name`.

The renderer names places by text, some of them in the runtime, where the reference has them.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from trainer_infra import names
from trainer_infra.api.finding import Path
from trainer_infra.api.shape import schema
from trainer_infra.api.shape.reading import has_unknown, unknown_paths
from trainer_infra.errors import Problem
from trainer_infra.rules import faults
from trainer_infra.rules.rendering import REFERENCE
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject, Value

_RUNTIMES: Final = tuple(f"{kind} " for kind in sorted(names.RUNTIMES))
_JOBS: Final = "spec.template."
"""Where `required-jobs` and `job-replicas` say the same of the runtime."""
_ONE_POLICY: Final = "must have only one of coscheduling and volcano"
"""What `gang-policy` says of it."""
_DEVICE: Final = re.compile(r"spec\.trainer\.resourcesPerNode\.\w+\[[^\]]*/[^\]]*\]")
"""Amounts of devices, of which `gpu-limits` says it."""
_PART: Final = re.compile(r"\[([^\]]*)\]|([^.\[\]]+)")


@dataclass(frozen=True, slots=True)
class Refusal:
    """One reason, and where in the TrainJob it is."""

    value: Value
    problem: Problem

    @property
    def is_of_name(self) -> bool:
        """Whether it is about the TrainJob's name, which `jobset-name` says."""
        return self.value.path == ("metadata", "name")


def refusals_of(subject: Subject) -> Iterator[Refusal]:
    """The reasons, unless they are its schema's or come from a value that is not known."""
    if subject.kind != names.TRAIN_JOB or subject.unseen:
        return
    problems = subject.problems or tuple(_of_runtime(subject))
    if not problems or subject.once(faults.faults_of):
        return
    hidden = tuple(unknown_paths(subject.object.raw))
    for problem in problems:
        is_said = problem.path.startswith(_JOBS) or problem.what == _ONE_POLICY
        if subject.runtime_is_judged and is_said and problem.where.startswith(_RUNTIMES):
            continue
        value = _place(subject, problem)
        related = [each for each in hidden if _is_near(each, value.path)]
        for each in related:
            subject.object.at(*each).is_noted()
        if not related:
            yield Refusal(value, problem)


def _of_runtime(subject: Subject) -> Iterator[Problem]:
    """A runtime that nothing can be rendered on, and that is not judged itself."""
    runtime = subject.runtime
    if runtime is None or subject.is_whole or subject.runtime_is_judged:
        return
    if not has_unknown(runtime.raw):
        yield Problem("spec.runtimeRef.name", "names a runtime that its schema refuses")


def _place(subject: Subject, problem: Problem) -> Value:
    """Where a problem is: the reference to the runtime for what is not the TrainJob's own."""
    here, own = subject.object, not problem.where.startswith(_RUNTIMES)
    fields: Any = schema.published_schema()[0][names.TRAIN_JOB]
    for part in (one or two for one, two in _PART.findall(problem.path)):
        if isinstance(here.raw, list | tuple) and not part.isdigit():
            break
        fields = _below(fields, part)
        here = here[int(part) if part.isdigit() else part]
        own = own and fields is not None
    if not own or here.path == REFERENCE[:-1]:
        return subject.object.at(*REFERENCE)
    # The text below a place that the problem shows; the place itself where there is none.
    if not isinstance(problem.got, str) or not problem.got:
        return here
    return next(_texts(here, problem.got), here)


def _below(fields: Any, part: str) -> Any:
    """The schema of a field; None where there is no such field."""
    fields = fields if isinstance(fields, Mapping) else {}
    if "$ref" in fields:
        fields = schema.published_schema()[1][fields["$ref"]]
    if part.isdigit():
        return fields.get("items")
    return fields.get("properties", {}).get(part, fields.get("additionalProperties"))


def _texts(value: Value, text: str) -> Iterator[Value]:
    if value.raw == text:
        yield value
    elif isinstance(value.raw, Mapping):
        for _, each in value.fields():
            yield from _texts(each, text)
    elif isinstance(value.raw, list | tuple):
        for each in value.items():
            yield from _texts(each, text)


def _is_near(one: Path, other: Path) -> bool:
    """Whether one of the two is the other or stands in it."""
    length = min(len(one), len(other))
    return one[:length] == other[:length]


def _check(refusal: Refusal, _context: Context[Parameters]) -> Iterator[Finding]:
    problem, value = refusal.problem, refusal.value
    if _is_said_better(refusal):
        return
    is_elsewhere = value.path == REFERENCE and not problem.path.startswith("spec.runtimeRef")
    what = f"names a runtime whose {problem.path} {problem.what}" if is_elsewhere else problem.what
    got = problem.got if isinstance(problem.got, str | int | float) else None
    yield value.finding(what, got, problem.fix)


def _is_said_better(refusal: Refusal) -> bool:
    """Whether another rule says it: jobset-name, reserved-env, runtime-exists or gpu-limits.

    A runtime is found by kind and name; the renderer refuses one of another API group.
    """
    problem, path = refusal.problem, refusal.value.path
    return (
        refusal.is_of_name
        or (path[:3] == ("spec", "trainer", "env") and "reserved" in problem.what)
        or (problem.path == "spec.runtimeRef" and "at hand" in problem.what)
        or _DEVICE.fullmatch(problem.path) is not None
    )


RULE: Final = Rule(
    id="renders",
    title="TrainJobs must render to objects that the cluster accepts",
    severity=Severity.HIGH,
    kinds=frozenset((names.TRAIN_JOB,)),
    tags=("shape",),
    why=(
        "The trainer's admission rejects the TrainJob, or its controller creates no JobSet, and "
        "nothing ever runs."
    ),
    fix="Change the TrainJob so that its runtime can run it, or name another runtime.",
    places=refusals_of,
    check=_check,
)
