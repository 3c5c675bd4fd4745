"""What a user asks of `trainer-infra check`: its options.

Made by `policy`; read by `check` and `compared_revision`.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

USUAL: Final = "trainer-policy.yaml"
"""The configuration that is read where none is named and this one is there."""


@dataclass(frozen=True, slots=True)
class CheckRequest:
    """The options."""

    paths: tuple[str, ...]
    values: tuple[str, ...]
    exclude: tuple[str, ...]
    pack: str | None
    config: str | None
    environment: str | None
    form: str
    outputs: tuple[tuple[str, str], ...]
    fail_on: str | None
    show: str
    baseline: str | None
    write_baseline: str | None
    fix: bool
    changed_from: str | None
    cluster: tuple[str | None, str | None] | None

    def policy_file(self) -> str | None:
        """The configuration that is read; None where there is none."""
        return self.config or (USUAL if Path(USUAL).is_file() else None)
