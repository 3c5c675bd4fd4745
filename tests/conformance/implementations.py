"""The managers that the tests run: the reference's, ours, and ours told to be like the reference."""

import sys
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from from_source.cluster import build, trainer
from trainer_infra.render.deviation import ALL, Deviation


class Apart(StrEnum):
    """Where ours decides otherwise than the reference, whether or not it is told to be like it.

    The values are ids of docs/compatibility.md, under "Apart from any switch".
    """

    CHILDREN = "Q20"
    """It watches no ConfigMaps and no Secrets, and makes sure of them now and then instead."""
    REPORTS = "reports"
    """Only a pod of the TrainJob may report, and only so often."""


@dataclass(frozen=True, slots=True)
class Implementation:
    """A manager that is a process beside an API server."""

    name: str
    """The parameter of the tests."""
    deviations: frozenset[Deviation | Apart]
    """Where it decides otherwise than the reference."""
    flags: tuple[str, ...] = ()
    """Of its command, besides its configuration and how to reach the server."""

    def command(self, configuration: Path, kubeconfig: Path) -> tuple[str, ...]:
        """How it is started.

        Raises:
            NotAvailable: The reference's manager cannot be built here.
        """
        files = (f"--config={configuration}", f"--kubeconfig={kubeconfig}")
        if self is UPSTREAM:
            return (str(build.built(trainer.TRAINER)), *files, *self.flags)
        program = Path(sys.executable).with_name("trainer-infra")
        return (str(program), "controller", *files, *self.flags)


UPSTREAM: Final = Implementation("upstream", frozenset(), ("--zap-log-level=2",))
"""Kubeflow Trainer v2.3.0."""
BUILTIN: Final = Implementation("builtin", ALL | {*Apart})
"""`trainer-infra controller`."""
LIKE_REFERENCE: Final = Implementation("like-reference", frozenset(Apart), ("--like-reference",))
"""The same with every deviation off."""
IMPLEMENTATIONS: Final = (UPSTREAM, BUILTIN, LIKE_REFERENCE)
