"""What a program's log says of its checkpoints."""

from __future__ import annotations

import sys


def say(sentence: str) -> None:
    """Say it in the program's log."""
    if sys.stderr is not None:
        print(f"trainer_infra.checkpoint: {sentence}", file=sys.stderr, flush=True)  # noqa: T201  its log
