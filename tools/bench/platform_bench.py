"""What `pulumi up` of stacks/platform costs on a bare cluster, as JSON; run by `make bench-platform`.

The images are in the node already. Each round goes from nothing to the whole platform, changes nothing,
and goes back. Medians of the rounds.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from from_source.cluster import down, live
from tools import platform_stack

AIMS: Final = {"up from nothing": 90.0, "up without a change": 15.0}
"""Seconds."""
STEPS: Final = {
    "up from nothing": ["up", "--yes", "--skip-preview"],
    "preview without a change": ["preview", "--expect-no-changes"],
    "up without a change": ["up", "--yes", "--skip-preview"],
    "destroy": ["destroy", "--yes", "--skip-preview"],
}
"""What is asked of the CLI, one after the other."""


def main() -> None:
    """Measure, print and take the cluster away."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--stack", default="dev", help="a file stacks/platform/Pulumi.STACK.yaml")
    arguments = parser.parse_args()
    os.environ[live.NAME] = "bench-platform"
    os.environ.pop("KUBECONFIG", None)
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["TRAINER_INFRA_HOME"] = scratch
        env = platform_stack.environment(platform_stack.cluster(arguments.stack))
        try:
            rounds = [measured(arguments.stack, env) for _ in range(arguments.rounds)]
        finally:
            down.remove()
    medians = {step: statistics.median(each[step] for each in rounds) for step in STEPS}
    print(json.dumps({"seconds": medians, "aims": AIMS, "rounds": rounds}, indent=2))


def measured(stack: str, env: dict[str, str]) -> dict[str, float]:
    """Wall seconds of each step."""
    settings = platform_stack.settings_copy(stack, env, allow_destroy=True)
    took = {}
    for step, command in STEPS.items():
        started = time.perf_counter()
        done = subprocess.run(
            ["pulumi", *command, "--stack", stack, "--config-file", settings, "--non-interactive"],
            cwd=Path(platform_stack.PROGRAM),
            env=env,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            sys.exit(f"pulumi {' '.join(command)} failed:\n{done.stdout[-4000:]}")
        took[step] = round(time.perf_counter() - started, 2)
    return took


if __name__ == "__main__":
    main()
