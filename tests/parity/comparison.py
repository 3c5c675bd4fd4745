"""Ours and the reference's outcome of one case, side by side.

A case agrees when both refuse it with the same messages at the same fields, or both make the same
objects (in canonical form), with the same warnings, patch times and status. Where several outcomes
of the reference are possible (it calls its plugins in random order), ours must be one of them.
"""

import base64
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import yaml

from tests.parity import canonical, generator, reference
from tests.parity.reference import Case, Outcome
from trainer_infra.api import transitions
from trainer_infra.api.runtime import ClusterTrainingRuntime, Runtime, TrainingRuntime
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.errors import InvalidInput, Problem
from trainer_infra.lifecycle import admission, jobs_status
from trainer_infra.render import pipeline
from trainer_infra.render.behaviour import REFERENCE, Behaviour
from trainer_infra.render.deviation import Deviation
from trainer_infra.render.observed_objects import ObservedObjects
from trainer_infra.render.phases import Plugin
from trainer_infra.render.plugins import PLUGINS, train_job_status, volcano

JSON = dict[str, Any]

RUNS: Final = (1, 5, 40, 1000)
"""Runs of a case, more of what still differs: some orders of the reference's plugins are rare."""
_ADDRESS: Final = re.compile(r"0x[0-9a-f]+")


@dataclass(frozen=True, slots=True)
class Ours:
    """What trainer_infra makes of a case: problems, or objects."""

    problems: tuple[Problem, ...] = ()
    objects: tuple[JSON, ...] = ()
    warnings: tuple[str, ...] = ()
    patch_times: tuple[str | None, ...] = ()
    status: JSON | None = None
    """Conditions and jobsStatus from the JobSet; None when there is none."""


@dataclass(frozen=True, slots=True)
class Typed:
    """A case's objects as they are read, which is most of the time that ours takes."""

    job: TrainJob
    runtime: Runtime
    old: TrainJob | None


def typed(case: Case) -> Typed:
    """The case's objects, read.

    Raises:
        InvalidInput: An API server would not take one of them.
    """
    kind = TrainingRuntime if case.runtime["kind"] == "TrainingRuntime" else ClusterTrainingRuntime
    old = None if case.old_train_job is None else TrainJob.from_wire(case.old_train_job)
    return Typed(TrainJob.from_wire(case.train_job), kind.from_wire(case.runtime), old)


def is_valid(case: Case) -> bool:
    """Whether an API server would take the case's objects (their schemas, not their webhooks)."""
    try:
        typed(case)
    except InvalidInput:
        return False
    if case.old_train_job is None:
        return True
    return not transitions.transition_findings(case.old_train_job, case.train_job, "TrainJob")


def ours(
    case: Case,
    deviations: frozenset[Deviation] = REFERENCE.deviations,
    given: Typed | None = None,
) -> Ours:
    """What we make of a case; in the mode that is the reference's unless deviations are named.

    `given` are the case's objects where they were read before.
    """
    given = given or typed(case)
    runtime, old = given.runtime, given.old
    jobset = next((each for each in case.existing if each["kind"] == "JobSet"), None)
    observed = ObservedObjects(jobset=jobset, objects=case.existing)
    behaviour = Behaviour(_plugins(case), deviations)
    job = admission.with_defaults(given.job, old, reference.NOW)
    of_runtime = admission.judge_runtime(runtime, behaviour=behaviour)
    verdict = admission.judge_train_job(
        job,
        runtime,
        None if old is None else admission.Before(old, observed),
        behaviour,
    )
    result = Ours(
        problems=(*of_runtime.problems, *verdict.problems),
        warnings=(*of_runtime.warnings, *verdict.warnings),
        patch_times=tuple(each.time for each in job.spec.runtime_patches or ()),
        status=None if jobset is None else _status(jobset),
    )
    if result.problems:
        return result
    try:
        made = pipeline.due_objects(job, runtime, observed, behaviour)
    except InvalidInput as refused:
        return replace(result, problems=refused.problems)
    return replace(result, objects=tuple(dict(each) for each in made))


def disagreements(cases: Sequence[Case]) -> dict[int, str]:
    """What differs, as text, by the position of the case.

    A case that crashes the reference for the known reason agrees.
    """
    mine = [ours(case) for case in cases]
    found = dict.fromkeys(range(len(cases)), "")
    for repeat in RUNS:
        outcomes = reference.run([cases[index] for index in found], repeat)
        for index, theirs in zip([*found], outcomes, strict=True):
            texts = [difference(cases[index], mine[index], each) for each in theirs]
            found[index] = texts[0]
            if not all(texts):
                del found[index]
    return found


def difference(case: Case, mine: Ours, theirs: Outcome) -> str:
    """What differs, a line each, and the case as YAML; empty when nothing does."""
    if theirs.panic and crashes_the_reference(case):
        return ""
    lines = f"the reference crashes: {theirs.panic}" if theirs.panic else ""
    lines = lines or "\n".join(_lines(mine, theirs))
    return lines and f"{lines}\n--- the case ---\n{yaml.safe_dump(case.to_wire())}"


def crashes_the_reference(case: Case) -> bool:
    """Flux without trainer.numNodes: the reference reads through a nil pointer (Q18)."""
    flux = "flux" in (case.runtime["spec"].get("mlPolicy") or {})
    return flux and (case.train_job["spec"].get("trainer") or {}).get("numNodes") is None


def compared(theirs: Iterable[JSON], mine: Iterable[JSON]) -> Iterator[str]:
    """A line for each field of the objects that differs: path, the reference's value, ours."""
    left, right = canonical.objects(theirs), canonical.objects(mine)
    for key in {**left, **right}:
        name = "/".join(key)
        if key not in right or key not in left:
            yield f"only {'ours' if key in right else 'the reference'} makes {name}"
        else:
            yield from _fields(name, left[key], right[key])


def _lines(mine: Ours, theirs: Outcome) -> Iterator[str]:
    yield from _fields("warnings", theirs.warnings, list(mine.warnings))
    yield from _fields("patch times", theirs.patch_times, list(mine.patch_times))
    if mine.status is not None:
        yield from _fields("status", theirs.status or {}, mine.status)
    left = Counter(_refusals(theirs))
    right = Counter((each.path, each.what) for each in mine.problems)
    yield from (f"only the reference refuses: {each}" for each in (left - right).elements())
    yield from (f"only ours refuses: {each}" for each in (right - left).elements())
    if not left and not right:
        yield from compared(theirs.objects, mine.objects)


def _refusals(theirs: Outcome) -> list[tuple[str, str]]:
    """Field and message of what both webhooks refuse, else why nothing can be built.

    One message of the reference has the address of a string instead of the string, an empty one.
    """
    refused = [(each["field"], each["detail"]) for each in theirs.runtime_errors + theirs.errors]
    if theirs.build_error and not refused:
        return [("", _ADDRESS.sub('""', theirs.build_error))]
    return refused


def _fields(name: str, theirs: Any, mine: Any) -> Iterator[str]:
    for path, left, right in canonical.differences(theirs, mine):
        yield f"{name}{path}: the reference has {left!r}, ours {right!r}"


def _status(jobset: JSON) -> JSON:
    status = {
        "conditions": [dict(each) for each in jobs_status.with_end_of_jobset((), jobset)],
        "jobsStatus": [dict(each) for each in jobs_status.jobs_status(jobset)],
    }
    return {key: value for key, value in status.items() if value}


def _plugins(case: Case) -> tuple[Plugin, ...]:
    """Our plugins as a driver would set them up for the case's cluster."""
    classes = [
        each["metadata"]["name"] for each in case.existing if each["kind"] == "PriorityClass"
    ]
    mine = [volcano.plugin(classes) if each is volcano.PLUGIN else each for each in PLUGINS]
    if case.feature_gate:
        mine.insert(-1, train_job_status.plugin(_status_server(case)))
    return tuple(mine)


def _status_server(case: Case) -> train_job_status.StatusServer:
    """The reference's default configuration, and the certificate that the case has."""
    named = {each["metadata"]["name"]: each for each in case.existing}
    secret = named.get(generator.CERTIFICATE)
    coded = ((secret or {}).get("data") or {}).get("ca.crt", "")
    return train_job_status.StatusServer(
        service="kubeflow-trainer-controller-manager",
        namespace="kubeflow-system",
        port=10443,
        secret=generator.CERTIFICATE,
        ca_crt=None if secret is None else base64.b64decode(coded).decode(),
    )
