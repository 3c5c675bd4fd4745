"""What a checkpoint arranges in the containers that train (`trainers.checkpoints`), and whether it can be."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from trainer_infra import names
from trainer_infra.api import checkpoint
from trainer_infra.json_values import JSONObject
from trainer_infra.rules.data import output
from trainer_infra.rules.data.output import OutputJob
from trainer_infra.rules.placement import commands, lookup
from trainer_infra.rules.placement.commands import ContainerCommand
from trainer_infra.rules.rule import Context, Finding, Parameters, Rule, Severity, Subject, Value
from trainer_infra.rules.value import UnseenValue


@dataclass(frozen=True, slots=True)
class Saving:
    """A container that trains, with what its variable says of a checkpoint."""

    job: OutputJob
    value: Value
    """The variable's value; absent without a checkpoint."""
    said: JSONObject | None
    """What it says; empty without a checkpoint, None where it cannot be read."""
    command: ContainerCommand | None
    """What it starts."""

    def finding(self, at: Value, what: str, got: object, fix: str) -> Finding:
        """A finding about a place; what its runtime alone says is one about the checkpoint, which contradicts it."""
        if not self.said or not at.is_inherited():
            return at.finding(what, got, fix)
        said = f"is contradicted by the runtime, whose {at.path[-1]} {what}"
        return self.value.finding(said, None, fix)


def variable(container: Value, name: str) -> Value:
    """The value of a variable of a container; absent where it has none."""
    found = [
        each["value"] for each in lookup.items(container["env"]) if each["name"].text() == name
    ]
    return found[-1] if found else container["env"]["value"]


def trainings(subject: Subject) -> tuple[Saving, ...]:
    """The containers that train, with a checkpoint or without."""
    return subject.once(_trainings)


def savings(subject: Subject) -> Iterator[Saving]:
    """Those with a checkpoint."""
    return (each for each in trainings(subject) if each.said != {})


def _trainings(subject: Subject) -> Iterator[Saving]:
    for path in (*subject.unseen, *subject.left_out):
        if path[:2] in (("spec", "runtimePatches"), ("spec", "trainer")):
            raise UnseenValue(path)
    found = commands.commands_of(subject)
    for job in output.jobs(subject):
        value = variable(job.container.value, checkpoint.VARIABLE)
        own = (each for each in found if each.container is job.container and each.is_main)
        yield Saving(job, value, checkpoint.said_of(value.text()), next(own, None))


def _check(place: Saving, _context: Context[Parameters]) -> Iterator[Finding]:
    if place.said is None:
        fix = 'write for example {"place": "output://checkpoints", "every_steps": 100}'
        yield place.value.finding("is not a JSON object", None, fix)
        return
    for each in checkpoint.checkpoint_problems(checkpoint.arguments_said(place.said)):
        what = f"{each.path.rpartition('.')[2]} {each.what}"
        yield place.value.finding(what, each.got, each.fix)


CHECKPOINT_VALUES: Final = Rule(
    id="checkpoint-values",
    title="A checkpoint must say when, where and from what",
    severity=Severity.HIGH,
    kinds=names.WITH_PODS,
    tags=("recovery", "checkpoints"),
    why="The program fails at its first save, saves too late, or never.",
    fix="Write what `Checkpoint` takes.",
    places=savings,
    check=_check,
)
"""Values are those of `checkpoint=Checkpoint(...)`, judged as in a program (`api.checkpoint`)."""
