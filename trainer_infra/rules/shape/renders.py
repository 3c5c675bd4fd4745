"""renders: a TrainJob and its runtime make objects that a cluster takes."""

import re
from collections.abc import Iterator
from typing import Final

from trainer_infra import names
from trainer_infra.rules.rendering import REFERENCE
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity
from trainer_infra.rules.shape import jobset_name, refusals, reserved_env, runtime_exists
from trainer_infra.rules.shape.refusals import Refusal

_OTHERS: Final = (
    jobset_name.tells_refusal,
    reserved_env.tells_refusal,
    runtime_exists.tells_refusal,
)
"""Rules that say some of the reasons better."""
_DEVICE: Final = re.compile(r"spec\.trainer\.resourcesPerNode\.\w+\[[^\]]*/[^\]]*\]")
"""Amounts of devices, of which gpu-limits says it."""


def _check(refusal: Refusal, _context: Context[Parameters]) -> Iterator[Finding]:
    problem, value = refusal.problem, refusal.value
    if _DEVICE.fullmatch(problem.path) or any(tells(refusal) for tells in _OTHERS):
        return
    is_elsewhere = value.path == REFERENCE and not problem.path.startswith("spec.runtimeRef")
    what = f"names a runtime whose {problem.path} {problem.what}" if is_elsewhere else problem.what
    got = problem.got if isinstance(problem.got, str | int | float) else None
    yield value.finding(what, got, problem.fix)


RULE: Final = Rule(
    id="renders",
    title="TrainJobs render to objects that a cluster takes",
    severity=Severity.HIGH,
    kinds=frozenset((names.TRAIN_JOB,)),
    tags=("shape",),
    why=(
        "The admission of the trainer refuses the TrainJob, or its controller makes no JobSet of "
        "it, and nothing ever runs."
    ),
    fix="Make the TrainJob one that its runtime can run, or name another runtime.",
    places=refusals.refusals_of,
    check=_check,
)
