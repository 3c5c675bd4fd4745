"""A loop that reports more slowly than once a second, so that every step is in the history."""

import sys
import time

from trainer_infra.callbacks import TrainingLoop


def train() -> None:
    """Four steps."""
    sys.stdout.write("begins\n")
    loop = TrainingLoop(4)
    for step in range(4):
        time.sleep(1.1)
        loop.step(samples=8, loss=1 / (step + 1))
    loop.end(accuracy=0.9)
