"""What an operation answers the engine, whatever connects the two. See `deploy.provider`."""

from collections.abc import Mapping
from dataclasses import dataclass

from trainer_infra.errors import Problem, TrainerInfraError
from trainer_infra.json_values import JSONObject


@dataclass(frozen=True, slots=True)
class CheckAnswer:
    """What a check found."""

    inputs: JSONObject
    """The inputs, with what was filled in."""
    problems: tuple[Problem, ...] = ()
    """What is wrong with them; none where they can be deployed."""


@dataclass(frozen=True, slots=True)
class Difference:
    """What a change of inputs means."""

    changes: bool
    """Whether anything is to be done."""
    replaces: tuple[str, ...] = ()
    """Inputs for which a new resource takes the place of the old one; none for an update in place."""
    delete_before_replace: bool = False
    """Whether the two cannot live side by side."""
    paths: Mapping[str, str] | None = None
    """What a preview shows: the path of an input, as the engine writes it, to `ADD`, `UPDATE` or
    `DELETE`, or one of these with `_REPLACE`. None: the engine compares by itself."""


@dataclass(frozen=True, slots=True)
class CreateAnswer:
    """A resource that was made."""

    id: str
    """For people: nothing is found by it."""
    outputs: JSONObject
    """What the state keeps."""


@dataclass(frozen=True, slots=True)
class Present:
    """A resource of the state that is there, as it is now."""

    outputs: JSONObject
    """What the state keeps."""
    inputs: JSONObject | None = None
    """What the program seems to say, where that is not what it said last."""


class UnfinishedOperation(TrainerInfraError):
    """An operation that failed, and made something all the same: the state keeps it.

    The engine shows the sentence, and asks for an update at the next `up`.
    """

    def __init__(self, message: str, created: CreateAnswer) -> None:
        super().__init__(message)
        self.created = created
