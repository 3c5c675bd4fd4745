"""What a checkpoint arranges in the containers that train (`trainers.checkpoints`), as rules read it."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from trainer_infra import names
from trainer_infra.api import checkpoint
from trainer_infra.json_values import JSONObject
from trainer_infra.rules.data import output
from trainer_infra.rules.data.output import OutputJob
from trainer_infra.rules.placement import commands
from trainer_infra.rules.placement.commands import ContainerCommand
from trainer_infra.rules.rule import Subject, Value

OURS: Final = f"{names.CODE_MOUNT}/init.py"
"""What starts the command of a container with 143 for its end, once it was told to end: `in_pod.init`."""


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

    @property
    def save_seconds(self) -> int:
        """Seconds that a step and a save take; 0 without a checkpoint."""
        given = (self.said or {}).get("save_seconds", checkpoint.SAVE_SECONDS)
        is_number = isinstance(given, int) and not isinstance(given, bool)
        return given if self.said and is_number else 0

    @property
    def is_ours(self) -> bool:
        """Whether our launcher starts it."""
        words = () if self.command is None else self.command.words
        return any(each.raw == OURS for each in words)

    def variable(self, name: str) -> Value:
        """The value of a variable of the container; absent where it has none."""
        return variable_of(self.job.container.value, name)


def variable_of(container: Value, name: str) -> Value:
    """The value of a variable of a container; absent where it has none."""
    found = [each["value"] for each in container["env"].items() if each["name"].text() == name]
    return found[-1] if found else container["env"]["value"]


def trainings(subject: Subject) -> tuple[Saving, ...]:
    """The containers that train, with a checkpoint or without."""
    return subject.once(_trainings)


def savings(subject: Subject) -> Iterator[Saving]:
    """Those with a checkpoint."""
    return (each for each in trainings(subject) if each.said != {})


def _trainings(subject: Subject) -> Iterator[Saving]:
    found = commands.commands_of(subject)
    for job in output.jobs(subject):
        value = variable_of(job.container.value, checkpoint.VARIABLE)
        own = (each for each in found if each.container is job.container and each.is_main)
        said = read(value.text()) if value.is_there() else {}
        yield Saving(job, value, said, next(own, None))


def read(text: str) -> JSONObject | None:
    """What the text of the variable says; None where it is not an object."""
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return said if isinstance(said, Mapping) and said else None
