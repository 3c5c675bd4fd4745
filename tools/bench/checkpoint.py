"""What a checkpoint costs a training, beside torch's own ways to save, as JSON lines: `make bench-checkpoint`.

A process trains in one thread, with steps of about 50 ms, and saves once: seconds in which the training waits for the
save, seconds until the checkpoint is whole, and seconds that the training lost in all by then, the slower steps
included. Then two processes ask at each step whether one was told to end. Medians of some rounds.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from from_source.cluster import python

ROOT: Final = Path(__file__).resolve().parents[2]
PROGRAM: Final = ROOT / "tools" / "bench" / "checkpoint_program.py"
WAYS: Final = ("ours", "torch.save", "dcp.save", "dcp.async_save")
SIZES: Final = (10, 1000, 4000)
"""Megabytes."""
STEPS: Final = (0.001, 0.01, 0.1)
"""Seconds."""
AIM: Final = 0.01
"""Share of a step that the agreement may take."""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="runs of each")
    parser.add_argument(
        "--sizes", type=int, nargs="*", default=SIZES, help="megabytes of the state"
    )
    asked = parser.parse_args()
    for size in asked.sizes:
        for way in WAYS:
            found = [_saved(way, size) for _ in range(asked.rounds)]
            print(
                json.dumps({"way": way, "MB": size, "rounds": asked.rounds, **_medians(found)}),
                flush=True,
            )
    for seconds in STEPS:
        found = [_agreed(seconds) for _ in range(asked.rounds)]
        medians = _medians(found)
        share = round(medians["agreement"] / medians["step"], 4)
        line = {"agreement of": 2, **medians, "share": share, "aim": AIM}
        print(json.dumps(line), flush=True)


def _saved(way: str, size: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "place"
        place.mkdir()
        found = _run((way, str(size), str(place)), place)
        shutil.rmtree(place)
    os.sync()
    return found


def _agreed(seconds: float) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        torchrun = ("-m", "torch.distributed.run", "--nproc-per-node=2")
        return _run(("agreement", str(seconds)), Path(folder), torchrun)


def _run(arguments: Sequence[str], place: Path, launcher: Sequence[str] = ()) -> dict[str, float]:
    arranged = {
        "place": str(place),
        "run": "bench/checkpoint",
        "every_steps": 12 if not launcher else 10**9,
    }
    variables: Mapping[str, str] = python.variables("torch")
    env = {
        **os.environ,
        **variables,
        "PYTHONPATH": f"{variables['PYTHONPATH']}{os.pathsep}{ROOT}",
        "TRAINER_INFRA_CHECKPOINT": json.dumps(arranged),
        "OMP_NUM_THREADS": "1",
    }
    command = (sys.executable, *launcher, str(PROGRAM), *arguments)
    done = subprocess.run(command, env=env, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _medians(found: Sequence[Mapping[str, float]]) -> dict[str, float]:
    return {key: round(statistics.median(each[key] for each in found), 5) for key in found[0]}


if __name__ == "__main__":
    main()
