"""Fields that a release of Trainer took away, and what to write instead.

Source: reference behaviour 1.6, the changes between releases.
"""

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from trainer_infra.names import RUNTIMES, TRAIN_JOB

_PATCH: Final = "write spec.runtimePatches, which took its place in Trainer 2.2"
_OF_JOBSET: Final = "write it in spec.runtimePatches, below trainingRuntimeSpec.template.metadata, since Trainer 2.2"
Field: TypeAlias = tuple[str, ...]
_OF_TRAIN_JOB: Final[Mapping[Field, Sequence[tuple[str, str]]]] = {
    ("spec", "podSpecOverrides"): (
        ("2.1", "write spec.podTemplateOverrides, which took its place in Trainer 2.1"),
        ("2.2", _PATCH),
    ),
    ("spec", "podTemplateOverrides"): (("2.2", _PATCH),),
    ("spec", "labels"): (("2.2", _OF_JOBSET),),
    ("spec", "annotations"): (("2.2", _OF_JOBSET),),
}
_OF_RUNTIME: Final[Mapping[Field, Sequence[tuple[str, str]]]] = {
    ("spec", "mlPolicy", "torch", "numProcPerNode"): (
        ("2.2", "write spec.trainer.numProcPerNode of the TrainJob: Trainer 2.2 removed this one"),
    ),
    ("spec", "mlPolicy", "torch", "elasticPolicy"): (
        ("2.2", "remove it: Trainer 2.2 has no elastic training of torch"),
    ),
}
"""By field, the releases that put something else in its place, the oldest first, and what to do."""
SUCCESSORS: Final = {TRAIN_JOB: _OF_TRAIN_JOB, **dict.fromkeys(RUNTIMES, _OF_RUNTIME)}
"""By kind."""


def successor(kind: str, field: Field, version: str) -> str:
    """What to write instead of a removed field in a release; empty for other fields."""
    known = SUCCESSORS.get(kind, {}).get(field, ())
    return next((fix for since, fix in reversed(known) if since <= version), "")
