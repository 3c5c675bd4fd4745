"""What `checkpoint=Checkpoint(...)` of a TrainJob arranged for the program, read from its environment."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from trainer_infra.in_pod.storage import with_outputs

VARIABLE = "TRAINER_INFRA_CHECKPOINT"
LATEST = "latest"


@dataclass(frozen=True)
class Arrangement:
    """Where and when a program saves, and from what it resumes."""

    place: str
    """A folder, or a URI such as s3://BUCKET/PATH."""
    run: str = ""
    """Namespace and name of the run."""
    every_steps: int | None = None
    every_seconds: float | None = None
    """Either, or neither: then it saves only when it is told to end."""
    keep: int = 3
    """Whole checkpoints that stay."""
    resume: str | int | bool = LATEST
    """`latest`, a step, the address of another run's checkpoints, or False to begin anew."""
    on_preemption: bool = True
    """Whether it saves when it is told to end."""
    save_seconds: float | None = None
    """Seconds that a step and a save are expected to take at most."""


def read_arrangement(environment: Mapping[str, str] = os.environ) -> Arrangement | None:
    """What was arranged; None for a program that no TrainJob with a checkpoint started."""
    text = environment.get(VARIABLE)
    if not text:
        return None
    found: dict[str, Any] = {}
    for name, each in json.loads(text).items():
        # The rest is advice, or a later release's.
        if name in Arrangement.__dataclass_fields__:
            is_place = isinstance(each, str) and name in {"place", "resume"}
            found[name] = with_outputs(each) if is_place else each
    return Arrangement(**found)
