"""schema: an object is what its published schema says."""

from collections.abc import Iterator
from typing import Final, Literal

from trainer_infra import names
from trainer_infra.api.shape.schema import VERSIONS
from trainer_infra.rules import faults
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Value, whole


class SchemaVersions(Parameters):
    """Whose schemas count."""

    trainer_version: Literal["2.0", "2.1", "2.2", "2.3"] = "2.3"
    """The release of Kubeflow Trainer that runs the TrainJobs."""


def _check(_whole: Value, context: Context[SchemaVersions]) -> Iterator[Finding]:
    subject, version = context.subject, context.parameters.trainer_version
    newest = version == VERSIONS[-1]
    for fault in subject.once(faults.faults_of) if newest else faults.faults_by(subject, version):
        if not fault.wants_quotes:
            yield fault.value.finding(fault.finding.what, fault.got, fault.finding.fix)


RULE: Final = Rule(
    id="schema",
    title="Objects must match their published schema",
    severity=Severity.HIGH,
    kinds=names.WITH_PODS | {*names.KUEUE_KINDS},
    tags=("shape", "schema"),
    why=(
        "The API server rejects the object, or drops the unknown field and the training runs "
        "without it."
    ),
    fix=(
        "Write the field as the schemas of Trainer v2.3.0, JobSet v0.12.0 and Kueue v0.19.0 define "
        "it."
    ),
    places=whole,
    check=_check,
    parameters=SchemaVersions,
)
