"""Says which packages were imported, and by which rank or node."""

import os

import amber  # type: ignore[import-not-found]  # the job brings it
import basalt  # type: ignore[import-not-found]  # the same


def train() -> None:
    node = os.environ.get("JOB_COMPLETION_INDEX", "0")
    rank = os.environ.get("OMPI_COMM_WORLD_RANK") or node
    # One write: several processes of a pod have one log.
    line = f"imported {amber.VERSION} {basalt.VERSION} by {rank}\n"
    print(line, end="", flush=True)  # noqa: T201  the test reads it
