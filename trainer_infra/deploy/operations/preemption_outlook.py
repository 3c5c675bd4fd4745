"""What a preview says of a preemption: what contradicts the run's checkpoint, and what a preemption costs at most.

The rules of recovery, which `check` applies to files, judge the run as it is rendered: what they take for grave is a
problem, what else they find a warning. Pure.
"""

import re
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
from trainer_infra.rules.recovery.ending import TIME_OF_QUEUED_PODS
from trainer_infra.rules.subject import AnyRuntime, Subject, subject_of, with_rendered
from trainer_infra.rules.value import Root, Value
from trainer_infra.rules.world import World
from trainer_infra.runs import hangs, preemption_cost, settings
from trainer_infra.trainers.code import OURS
from trainer_infra.trainers.compose import Composition

_OF_CLUSTERS: Final = ("persistent-output", "preemptible-checkpoints")
"""Other rules that know where a checkpoint is; on this machine folders stay."""
_USE: Final = re.compile(
    r"trainer_infra\.(checkpoint|callbacks)\b|from\s+trainer_infra\b|\bCheckpointer\b"
)
_UPSTREAM: Final = (
    "Kubeflow Trainer's own controller makes no failure policies for a checkpoint, so that each preempted pod counts: "
    "put them on the runtime (docs/fault-tolerance.md), or run `pulumi config set trainer:engine provider`"
)
_FROM_THE_FIRST_LINE: Final = (
    "num_nodes: torchrun starts the program again each time a node is lost or comes back, and without checkpoint= that "
    "is from its first line"
)
_NOT_OURS: Final = (
    "the command is not started by trainer_infra's launcher, so the program itself must end with 143 on "
    "SIGTERM, as Checkpointer does, and its image must have trainer_infra"
)
_UNWATCHED: Final = (
    "checkpoint.hang_after: has no effect, for no process of trainer_infra runs beside the ranks: they are started by "
    "the job's own command, or by mpirun on other nodes"
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


def preemption_outlook(
    job: TrainJobProperties, run: Composition
) -> tuple[list[Problem], list[str], list[str]]:
    """Of a run as it is rendered what contradicts its checkpoint, what may be wrong, and what a preemption costs."""
    wire, code, policy = run.job.to_wire(), job.json.get("code"), run.runtime.spec.ml_policy
    subject = subject_of(wire, AnyRuntime(run.runtime.to_wire(), None))
    others = [each for each in run.objects if each["kind"] != names.TRAIN_JOB]
    subject = with_code(with_rendered(subject, others), code)
    also = () if job.target == targets.LOCAL else _OF_CLUSTERS
    # Where no TrainJob is stored, Kueue starts the JobSet.
    is_stored = len(others) < len(run.objects)
    rules = (each for each in RULES if each.tags[0] == "recovery" or each.id in also)
    rules = (each for each in rules if is_stored or each is not TIME_OF_QUEUED_PODS)
    chosen = [ConfiguredRule.default(each) for each in rules]
    found: dict[bool, list[Problem]] = {True: [], False: []}
    for verdict in judge(subject, World(), chosen):
        is_grave = verdict.chosen.severity.is_at_least(Severity.HIGH)
        found[is_grave] += [_problem(each, wire) for each in verdict.findings]
    job_set = next(each for each in others if each["kind"] == names.JOBSET)
    nodes = (policy.num_nodes if policy else None) or 1
    given = settings.with_pods(settings.settings_of(wire), job_set, nodes, suspended=False)
    saves = checkpoint.VARIABLE in given.env
    costs = (preemption_cost.cost_sentence(given), preemption_cost.interval_advice(given))
    doubts = [*map(str, found[False]), *_doubts(job, saves=saves)]
    unwatched = job.code is None or (policy is not None and policy.mpi is not None)
    doubts += [_UNWATCHED] if unwatched and hangs.is_watched(job_set) else []
    return found[True], doubts, [each for each in costs if saves and each]


def _doubts(job: TrainJobProperties, *, saves: bool) -> Iterator[str]:
    """Why what a checkpoint arranges may be of no use."""
    if saves and job.json.get("controller") == names.UPSTREAM:
        yield _UPSTREAM
    if saves and job.code is None:
        yield _NOT_OURS
    if job.code and job.code.least_nodes and not saves:
        yield _FROM_THE_FIRST_LINE
    if job.code is None or job.code.stored or job.code.launch().keys() & {"program", "framework"}:
        return
    texts = job.code.own_files().values()
    if saves and not any(map(_USE.search, texts)):
        yield "checkpoint: the program names no Checkpointer, so that nothing is saved"
    elif not saves and any("Checkpointer(" in each for each in texts):
        yield "the program uses Checkpointer, which does nothing in a run without checkpoint="


def _problem(found: Finding, job: JSONObject) -> Problem:
    path, found = found.path, where_to_fix(found)
    if path[:3] == ("spec", "trainer", "env") and path[4:] == ("value",):
        name = job["spec"]["trainer"]["env"][path[3]].get("name")
        path = ("checkpoint",) if name == checkpoint.VARIABLE else path
    where = found.seen_at if found.inherited else path_text(path)
    return Problem(where, found.what, found.got, found.fix)
