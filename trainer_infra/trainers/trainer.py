"""What trains, as a user gives it: a value that packs itself into what a TrainJob needs.

`CustomTrainer` is one. Another one is a folder beside `custom/` with a class that keeps
`PackableTrainer`; drivers know it by the protocol alone, and `compose` by what it packed.
"""

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from trainer_infra.trainers.code import Code


@dataclass(frozen=True, slots=True)
class PackedTrainer:
    """What a trainer becomes."""

    code: Code
    """What travels in the ConfigMap."""
    trainer: dict[str, Any]
    """`spec.trainer` in wire form, without its command."""
    secret_data: dict[str, Any]
    """Key of the job's own Secret -> text; an Output, or a mapping that holds one, as it was given."""


@runtime_checkable
class PackableTrainer(Protocol):
    """What `trainer=` takes besides spec.trainer in wire form."""

    def pack(self) -> PackedTrainer:
        """The code, the trainer and the secrets.

        Raises:
            InvalidInput: holds every problem, in the order of the fields.
        """
        ...
