"""persistent-output: results of training are written where they outlive the pod.

What is recognized as a folder of results stands in `output`.
"""

from collections.abc import Iterator
from typing import Final

from trainer_infra import names
from trainer_infra.rules.data import output
from trainer_infra.rules.data.output import Fate, OutputJob
from trainer_infra.rules.placement import patches
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity


class PersistentOutput(Parameters):
    """What names a folder of results."""

    env: tuple[str, ...] = output.VARIABLES
    """Variables."""
    options: tuple[str, ...] = output.OPTIONS
    """Arguments, without dashes in front and with `_` between words."""


def _check(place: OutputJob, context: Context[PersistentOutput]) -> Iterator[Finding]:
    patches.be_known(context.subject)
    given = context.parameters
    for each in output.outputs(place.container.value, given.env, given.options):
        if output.fate(each.folder, place) is Fate.LOST:
            what = "is lost with the pod: no volume that outlives it is mounted there"
            fix = "mount a persistentVolumeClaim there, or write to a folder that is on one"
            yield each.value.finding(what, each.folder, fix)


RULE: Final = Rule(
    id="persistent-output",
    title="Results are written where they outlive the pod",
    severity=Severity.MEDIUM,
    kinds=names.WITH_PODS,
    tags=("data", "volumes", "checkpoints"),
    why=(
        "The disk of a container and an emptyDir go with the pod: the result is gone when training "
        "ends, and after a restart it begins again."
    ),
    fix="Write to a mounted persistentVolumeClaim or to an object store.",
    places=output.jobs,
    check=_check,
    parameters=PersistentOutput,
)
