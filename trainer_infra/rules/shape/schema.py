"""What is wrong with an object by its published schema; a text without quotes has a rule of its own."""

from collections.abc import Iterator
from typing import Annotated, Final, Literal

from pydantic import BeforeValidator

from trainer_infra import names
from trainer_infra.api.shape.schema import VERSIONS
from trainer_infra.rules import faults
from trainer_infra.rules.faults import Fault
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Value


class SchemaVersions(Parameters):
    """Whose schemas count."""

    # Without quotes it is a number in YAML.
    trainer_version: Annotated[
        Literal["2.0", "2.1", "2.2", "2.3"],
        BeforeValidator(lambda given: str(given) if isinstance(given, float) else given),
    ] = "2.3"
    """The release of Kubeflow Trainer that runs the TrainJobs."""


def _check(_whole: Value, context: Context[SchemaVersions]) -> Iterator[Finding]:
    subject, version = context.subject, context.parameters.trainer_version
    newest = version == VERSIONS[-1]
    for fault in subject.once(faults.faults_of) if newest else faults.faults_by(subject, version):
        if not fault.wants_quotes:
            yield fault.value.finding(fault.finding.what, fault.got, fault.finding.fix)


SCHEMA: Final = Rule(
    id="schema",
    title="Objects must match their published schema",
    severity=Severity.HIGH,
    kinds=names.WITH_PODS | {*names.KUEUE_KINDS},
    tags=("shape", "schema"),
    why="The API server rejects the object, or drops the unknown field and the training runs without it.",
    fix="Write the field as the schemas of Trainer v2.3.0, JobSet v0.12.0 and Kueue v0.19.0 define it.",
    check=_check,
    parameters=SchemaVersions,
)


def _check_quotes(fault: Fault, _context: Context[Parameters]) -> Iterator[Finding]:
    if not fault.wants_quotes:
        return
    got, raw = fault.finding.got, fault.value.raw
    if isinstance(got, int) and not isinstance(got, bool):
        # Other numbers and booleans were written in a way that is lost: 1.10, 1e3, no, on.
        patch = fault.value.set_to(str(raw)) if raw is got else ()
        fix = "put it in quotes"
    else:
        patch, fix = (), "put it in quotes, as it is to be read: 1.10, no and on are lost otherwise"
    yield fault.value.finding(fault.finding.what, fault.got, fix, patch)


QUOTED_STRINGS: Final = Rule(
    id="quoted-strings",
    title="Strings that YAML reads as numbers or booleans must be quoted",
    severity=Severity.HIGH,
    kinds=names.WITH_PODS | names.QUEUEING_KINDS,
    tags=("shape", "schema", "kueue", "volcano"),
    why=(
        "The API server rejects a number or a boolean where it expects a string; tools that "
        "convert it write `1.1` for `1.10` and `true` for `on`."
    ),
    fix='Put the value in quotes: `"1.10"` or `"on"`.',
    places=faults.faults_of,
    check=_check_quotes,
    remediates=True,
)
