"""Start-up times, the pure core, policy and the quickstart, as JSON: `make bench`.

Each measurement is the wall time of a whole process, the median of ten runs after one that is not
counted; Python's own start-up stands beside them for reference. The last one is the quickstart when
nothing needs installing: from the start of `pulumi up` to the end of the first training step on
both nodes, as the nodes log it, on a state folder of its own.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
BIN = ROOT / ".venv" / "bin"
PYTHON = str(BIN / "python")
COMMANDS = {
    "python start-up (reference)": [PYTHON, "-c", ""],
    "import trainer_infra": [PYTHON, "-c", "import trainer_infra"],
    "from trainer_infra import CustomTrainer": [
        PYTHON,
        "-c",
        "from trainer_infra import CustomTrainer",
    ],
    "from trainer_infra import TrainJob": [PYTHON, "-c", "from trainer_infra import TrainJob"],
    "trainer-infra --help": [str(BIN / "trainer-infra"), "--help"],
    "trainer-infra render of one job": [
        str(BIN / "trainer-infra"),
        "render",
        "-f",
        "tools/bench/trainjob.yaml",
    ],
}
AIMS = {
    "import trainer_infra": 0.15,
    "from trainer_infra import CustomTrainer": 0.25,
    "trainer-infra --help": 0.3,
    "trainer-infra render of one job": 0.3,
    "torch renders per second": 5_000,
    "1,000-node MPI renders per second": 500,
    "quickstart, up to first step": 4.0,
}
"""Seconds where nothing else is said, from the issues."""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10, help="runs of each measurement")
    parser.add_argument(
        "--without-quickstart", action="store_true", help="leave the quickstart out"
    )
    arguments = parser.parse_args()
    found = {
        what: _median(arguments.runs, partial(_wall, command)) for what, command in COMMANDS.items()
    }
    found |= _printed("tools/bench/core.py", "--rounds", str(arguments.runs))
    policy = _printed("-m", "tools.bench.policy")
    found |= policy["measured"]
    reviews = _printed("-m", "tools.bench.large_reviews")
    found |= reviews["measured"]
    if not arguments.without_quickstart:
        found["quickstart, up to first step"] = _quickstart(arguments.runs)
    report = {
        "unit": "median; seconds where nothing else is said",
        "runs": arguments.runs,
        "measured": found,
        "aims": {what: aim for what, aim in AIMS.items() if what in found}
        | policy["aims"]
        | reviews["aims"],
    }
    print(json.dumps(report, indent=2))


def _printed(*command: str) -> dict[str, Any]:
    """The JSON that another measurement prints."""
    done = subprocess.run([PYTHON, *command], cwd=ROOT, check=True, stdout=subprocess.PIPE)
    printed: dict[str, Any] = json.loads(done.stdout)
    return printed


def _median(runs: int, measure: Callable[[], float]) -> float:
    measure()
    return round(statistics.median(measure() for _ in range(runs)), 3)


def _wall(command: list[str], env: Mapping[str, str] | None = None) -> float:
    """Wall time of a process from its start to its end."""
    started = time.perf_counter()
    subprocess.run(command, cwd=ROOT, env=env, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


def _quickstart(runs: int) -> float:
    """Median over fresh runs; the first one, not counted, installs the job's packages."""
    with tempfile.TemporaryDirectory() as home:
        env = {**os.environ, "TRAINER_INFRA_HOME": home}
        return _median(runs, partial(_first_step, env))


def _first_step(env: Mapping[str, str]) -> float:
    """Seconds from the start of `up` until both nodes have taken a step."""
    quickstart = [PYTHON, "tools/quickstart.py"]
    started = time.time()
    _wall([*quickstart, "up"], env)
    log = subprocess.run(
        [str(BIN / "trainer-infra"), "logs", _only_run(env)],
        env=env,
        check=True,
        capture_output=True,
        text=True,
    )
    _wall([*quickstart, "destroy"], env)
    steps = [float(at) for at in re.findall(r"first step at ([0-9.]+)", log.stdout)]
    if len(steps) != 2:  # noqa: PLR2004  the quickstart's nodes
        sys.exit(f"expected a first step of each of 2 nodes in the log, got {len(steps)}")
    return max(steps) - started


def _only_run(env: Mapping[str, str]) -> str:
    listed = subprocess.run(
        [PYTHON, "tools/quickstart.py", "stack", "output", "run"],
        cwd=ROOT,
        env=env,
        check=True,
        capture_output=True,
        text=True,
    )
    return listed.stdout.strip()


if __name__ == "__main__":
    main()
