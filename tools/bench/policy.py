"""What policy costs, as JSON; run by `make bench-policy`.

A check of 5,000 generated manifests and of one file, as whole processes, and what the pack adds to an
`up` of 200 suspended TrainJobs on this machine. Medians of the rounds.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tools.bench import project

FILES: Final = 5_000
RESOURCES: Final = 200
AIMS: Final = {f"files per second, of {FILES}": 2000, "one file, seconds": 0.3}
RUNTIMES: Final = (
    "torch-distributed",
    "jax-distributed",
    "deepspeed-distributed",
    "xgboost-distributed",
)
MANIFEST: Final = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata:
  name: job-{index}
  namespace: team-{team}
  labels:
    kueue.x-k8s.io/queue-name: team-{team}
spec:
  runtimeRef:
    name: {runtime}
  activeDeadlineSeconds: 86400
  trainer:
    image: registry.example.com/team-{team}/train:v{index}
    command: ["python", "-m", "train", "--lr", "0.{index}"]
    numNodes: {nodes}
    env:
    - name: DATA
      value: s3://bucket-{team}/data
    resourcesPerNode:
      limits:
        cpu: "16"
        memory: 128Gi
        nvidia.com/gpu: 8
"""
PROGRAM: Final = f"""
from trainer_infra import TrainJob
for index in range({RESOURCES}):
    TrainJob(f"job-{{index}}", runtime="jax-distributed", suspend=True,
             trainer={{"command": ["python", "-c", f"print({{index}})"], "numNodes": 2}})
"""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="rounds of each measurement")
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        _manifests(folder / "manifests")
        many = _median(rounds, lambda: _check(folder / "manifests"))
        one = _median(rounds, lambda: _check(folder / "manifests" / "team-0" / "job-0.yaml"))
        plain, packed = _median(rounds, lambda: _up(())), _median(rounds, lambda: _up(_PACK))
    measured = {
        f"files per second, of {FILES}": round(FILES / many),
        "one file, seconds": round(one, 3),
        f"up of {RESOURCES}, seconds": round(plain, 2),
        f"up of {RESOURCES} with the pack training, seconds": round(packed, 2),
        "the pack adds, of each resource, seconds": round((packed - plain) / RESOURCES, 4),
    }
    report = {"unit": "median", "rounds": rounds, "measured": measured, "aims": AIMS}
    print(json.dumps(report, indent=2))


_PACK: Final = ("--policy-pack", str(project.ROOT / "policies" / "training"))


def _median(rounds: int, measure: Callable[[], float]) -> float:
    return statistics.median(measure() for _ in range(rounds))


def _manifests(folder: Path) -> None:
    for index in range(FILES):
        team = index % 50
        where = folder / f"team-{team}"
        where.mkdir(parents=True, exist_ok=True)
        runtime, nodes = RUNTIMES[index % len(RUNTIMES)], 1 + index % 8
        text = MANIFEST.format(index=index, team=team, runtime=runtime, nodes=nodes)
        (where / f"job-{index}.yaml").write_text(text)


def _check(path: Path) -> float:
    """Seconds of a check; what it finds is of no account."""
    started = time.perf_counter()
    command = [str(project.BIN / "trainer-infra"), "check", str(path), "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in {0, 1}:
        sys.exit(f"the check failed:\n{done.stderr[-4000:]}")
    return time.perf_counter() - started


def _up(arguments: tuple[str, ...]) -> float:
    """Seconds of an `up` in a project of its own, which is taken away again."""
    with project.made({"target": "local"}) as stack:
        stack.program(PROGRAM)
        took = stack.up(*arguments)
        stack.pulumi("destroy", "--yes", "--skip-preview")
    return took


if __name__ == "__main__":
    main()
