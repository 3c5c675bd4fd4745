"""What trains, as a user gives it: a value that packs itself into what a TrainJob needs.

`CustomTrainer` is one. Another one, of this package or of yours, is a frozen dataclass that keeps
`PackableTrainer`: drivers know it by the protocol alone, and `compose` by what it packed. The deploy room
opens the Outputs in its fields before it packs, and takes secrets from those in `DOORS`.
"""

from dataclasses import dataclass, is_dataclass
from typing import Any, ClassVar, Final, Protocol, TypeGuard, runtime_checkable

from trainer_infra.trainers.code import Code


@dataclass(frozen=True, slots=True)
class PackedTrainer:
    """What a trainer becomes."""

    code: Code | None
    """What travels in the ConfigMap, and starts; None for a trainer that has a command of its own."""
    trainer: dict[str, Any]
    """`spec.trainer` in wire form; without its command where there is code."""
    secret_data: dict[str, Any]
    """Key of the job's own Secret -> text; an Output, or a mapping that holds one, as it was given."""


@dataclass(frozen=True, slots=True)
class PackedProgram(PackedTrainer):
    """What a trainer becomes that brings a program."""

    code: Code


DOORS: Final = frozenset({"env", "files", "func_args"})
"""Fields of a trainer whose values may be Secrets."""
PACKABLE: Final = "packable"
"""What the arguments of a trainer stand under; no key of spec.trainer."""


@runtime_checkable
class PackableTrainer(Protocol):
    """What `trainer=` takes besides spec.trainer in wire form."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    def pack(self) -> PackedTrainer:
        """The code, the trainer and the secrets.

        Raises:
            InvalidInput: holds every problem, in the order of the fields.
        """
        ...


def is_trainer(value: object) -> TypeGuard[PackableTrainer]:
    """Whether a value keeps the protocol; by its type, for an Output says yes to every attribute."""
    return is_dataclass(type(value)) and callable(getattr(type(value), "pack", None))
