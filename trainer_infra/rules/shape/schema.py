"""schema: an object is what its published schema says."""

from collections.abc import Iterator
from typing import Final

from trainer_infra import names
from trainer_infra.rules.finding import Finding, Severity
from trainer_infra.rules.rule import Context, Parameters, Rule
from trainer_infra.rules.shape import faults
from trainer_infra.rules.shape.faults import Fault


def _check(fault: Fault, _context: Context[Parameters]) -> Iterator[Finding]:
    if not fault.wants_quotes:
        yield fault.value.finding(fault.finding.what, fault.got, fault.finding.fix)


RULE: Final = Rule(
    id="schema",
    title="Objects are what their published schema says",
    severity=Severity.HIGH,
    kinds=names.WITH_PODS | {*names.KUEUE_KINDS},
    tags=("shape", "schema"),
    why=(
        "The API server refuses the object, or drops the field that it does not know, and the "
        "training runs without it."
    ),
    fix=(
        "Write the field as the schemas of Trainer v2.3.0, JobSet v0.12.0 and Kueue v0.19.0 have it."
    ),
    places=faults.faults_of,
    check=_check,
)
