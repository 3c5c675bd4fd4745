"""What a preview says of a preemption: what contradicts the run's checkpoint, and what a preemption costs at most.

The rules of recovery, which `check` applies to files, judge the run as it is rendered: what they take for grave is a
problem, what else they find a warning. Pure.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from trainer_infra import names
from trainer_infra.api import checkpoint
from trainer_infra.api.finding import path_text
from trainer_infra.deploy.operations import targets
from trainer_infra.deploy.operations.properties import TrainJobProperties
from trainer_infra.errors import Problem
from trainer_infra.json_values import JSONObject
from trainer_infra.rules import RULES
from trainer_infra.rules.finding import Finding, Severity, where_to_fix
from trainer_infra.rules.judge import ConfiguredRule, judge
from trainer_infra.rules.subject import AnyRuntime, Subject, subject_of, with_rendered
from trainer_infra.rules.value import Root, Value
from trainer_infra.rules.world import World
from trainer_infra.runs import preemption_cost
from trainer_infra.runs.preemption_cost import PreemptionOutlook
from trainer_infra.trainers.code import OURS
from trainer_infra.trainers.compose import Composition

_OF_RESULTS: Final = "persistent-output"
"""Of the other rules the one that knows where a checkpoint is; on this machine folders stay."""
_UPSTREAM: Final = (
    "Kubeflow Trainer's own controller makes no failure policies for a checkpoint: each preempted pod counts towards "
    "the backoffLimit of its Job; put them on the runtime (docs/fault-tolerance.md), or run "
    "`pulumi config set trainer:engine provider`"
)
_NOT_OURS: Final = (
    "the command is not started by trainer_infra's launcher, so the program must end with 143 itself when it is told to "
    "end, as Checkpointer does, and its image must have trainer_infra"
)


def with_code(subject: Subject, code: Any) -> Subject:
    """A TrainJob with the code that its pods get beside it, in the wire form of inputs; what is ours left out."""
    if code is None:
        return subject
    files = code.get("files") if isinstance(code, Mapping) else None
    if isinstance(files, Mapping):
        mine = {path: text for path, text in files.items() if not path.startswith(OURS)}
        code = {**code, "files": mine}
    return replace(subject, code=Value({"code": code}, Root(unseen=subject.noted)))


def preemption_outlook(job: TrainJobProperties, run: Composition) -> PreemptionOutlook:
    """The outlook of a run as it is rendered."""
    job_set = next(each for each in run.objects if each["kind"] == names.JOBSET)
    code = job.json.get("code")
    remarks = tuple(filter(None, preemption_cost.of_job_set(job_set)))
    wire = run.job.to_wire()
    subject = subject_of(wire, AnyRuntime(run.runtime.to_wire(), None))
    others = (each for each in run.objects if each["kind"] != names.TRAIN_JOB)
    subject = with_code(with_rendered(subject, others), code)
    graded = list(_graded(subject, is_local=job.target == targets.LOCAL))
    problems = [_problem(each, wire) for each, is_grave in graded if is_grave]
    warnings = [str(_problem(each, wire)) for each, is_grave in graded if not is_grave]
    if remarks and job.json.get("controller") == names.UPSTREAM:
        warnings.append(_UPSTREAM)
    if remarks and code is None:
        warnings.append(_NOT_OURS)
    return PreemptionOutlook(tuple(problems), tuple(warnings), remarks)


def _graded(subject: Subject, *, is_local: bool) -> Iterator[tuple[Finding, bool]]:
    """What the rules find, and whether it is grave."""
    wanted = (each for each in RULES if each.tags[0] == "recovery" or each.id == _OF_RESULTS)
    chosen = [
        ConfiguredRule.default(each) for each in wanted if not (is_local and each.id == _OF_RESULTS)
    ]
    for verdict in judge(subject, World(), chosen):
        is_grave = verdict.chosen.severity.is_at_least(Severity.HIGH)
        yield from ((where_to_fix(each), is_grave) for each in verdict.findings)


def _problem(found: Finding, job: JSONObject) -> Problem:
    path: Any = found.path
    if path[:3] == ("spec", "trainer", "env") and path[4:] == ("value",):
        name = job["spec"]["trainer"]["env"][path[3]].get("name")
        path = ("checkpoint",) if name == checkpoint.VARIABLE else path
    return Problem(path_text(path), found.what, found.got, found.fix)
