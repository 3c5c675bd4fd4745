"""A value that nobody may read by accident.

Users write it in `env` and `func_args` of a CustomTrainer and in an initializer's token. `custom`
moves the value to the job's own Secret and leaves a reference behind (DESIGN.md, rule 1).
"""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Secret:
    """A value that is shown nowhere: not in a preview, not in the state, not in a repr."""

    value: Any = field(repr=False)
    """Text for an env variable, any JSON value for an argument; in a Pulumi program an Output."""

    @property
    def later(self) -> bool:
        """Whether the value is an Output, which nobody can read now."""
        return hasattr(self.value, "apply")
