"""What policy costs, as JSON; run by `make bench-policy`.

A check of 5,000 generated manifests and of one file, as whole processes, and what the pack adds to
200 resources: to a preview of TrainJobs, and to an `up` of runtimes, whose creation starts no process
that would hide it. An empty pack stands beside ours: what Pulumi itself costs for any. Medians of the
rounds.
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tools.bench import project

FILES: Final = 5_000
RESOURCES: Final = 200
AIMS: Final = {
    f"files per second, of {FILES}": 2000,
    "one file, seconds": 0.3,
    "preview of TrainJobs: our rules add to each, CPU seconds": 0.01,
    "up of runtimes: our rules add to each, CPU seconds": 0.01,
}
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
TRAIN_JOBS: Final = f"""
from trainer_infra import TrainJob
for index in range({RESOURCES}):
    TrainJob(f"job-{{index}}", runtime="jax-distributed", suspend=True,
             trainer={{"command": ["python", "-c", f"print({{index}})"], "numNodes": 2}})
"""
RUNTIMES_OF_A_STACK: Final = f"""
from trainer_infra import ClusterTrainingRuntime, catalog
known = catalog.get("jax-distributed").to_wire()
wire = {{**known, "metadata": {{"labels": known["metadata"]["labels"]}}}}
for index in range({RESOURCES}):
    ClusterTrainingRuntime(f"runtime-{{index}}", wire)
"""
EMPTY_PACK: Final = {
    "PulumiPolicy.yaml": f"""\
name: empty
runtime: {{name: python, options: {{virtualenv: {sys.prefix}}}}}
""",
    "__main__.py": """\
from pulumi_policy import PolicyPack, ResourceValidationPolicy
PolicyPack("empty", [ResourceValidationPolicy("nothing", "nothing", lambda args, report: None)])
""",
}


@dataclass(frozen=True, slots=True)
class Cost:
    """What a run of the CLI cost, with all processes that it started."""

    wall: float
    """Seconds."""
    processor: float
    """Seconds of all processors, which other work on the machine changes less."""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="rounds of each measurement")
    parser.add_argument("--only", choices=MEASUREMENTS, help="one of the measurements")
    arguments = parser.parse_args()
    measured: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as scratch:
        for name in [arguments.only] if arguments.only else MEASUREMENTS:
            measured |= MEASUREMENTS[name](Path(scratch), arguments.rounds)
    aims = {what: aim for what, aim in AIMS.items() if what in measured}
    report = {"unit": "median", "rounds": arguments.rounds, "measured": measured, "aims": aims}
    print(json.dumps(report, indent=2))


def _checks(folder: Path, rounds: int) -> dict[str, float]:
    """Checks of files."""
    _manifests(folder / "manifests")
    many = _median(rounds, lambda: _check(folder / "manifests"))
    one = _median(rounds, lambda: _check(folder / "manifests" / "team-0" / "job-0.yaml"))
    return {
        f"files per second, of {FILES}": round(FILES / many),
        "one file, seconds": round(one, 3),
    }


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


def _packs(folder: Path, rounds: int) -> dict[str, float]:
    """What packs add to a preview and to an `up`."""
    empty = folder / "empty"
    empty.mkdir()
    for name, text in EMPTY_PACK.items():
        (empty / name).write_text(text)
    packs = {
        "no pack": (),
        "an empty pack": ("--policy-pack", str(empty)),
        "our pack": ("--policy-pack", str(project.ROOT / "policies" / "training")),
    }
    measured: dict[str, float] = {}
    for what, program, command in (
        ("preview of TrainJobs", TRAIN_JOBS, ("preview",)),
        ("up of runtimes", RUNTIMES_OF_A_STACK, ("up", "--yes", "--skip-preview")),
    ):
        found: dict[str, list[Cost]] = {pack: [] for pack in packs}
        for index in range(rounds):
            # One after the other: what else the machine does should cost all of them the same.
            for pack, arguments in packs.items():
                found[pack].append(_cost(program, (*command, *arguments)))
            # It takes minutes: the reader sees that it goes on.
            print(f"{what}, round {index + 1} of {rounds}", file=sys.stderr, flush=True)
        measured |= _told(what, found)
    return measured


def _cost(program: str, command: tuple[str, ...]) -> Cost:
    """What a command costs in a project of its own; it leaves nothing behind."""
    with project.made({"target": "local"}) as stack:
        stack.program(program)
        before = _processor()
        wall = stack.pulumi(*command)
        return Cost(wall, _processor() - before)


def _processor() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _told(what: str, found: Mapping[str, Sequence[Cost]]) -> dict[str, float]:
    """The medians, and what each resource costs more with the next of the packs."""
    measured: dict[str, float] = {}
    for kind, unit in (("wall", "seconds"), ("processor", "CPU seconds")):
        costs = {
            pack: statistics.median(getattr(each, kind) for each in every)
            for pack, every in found.items()
        }
        for pack, cost in costs.items():
            measured[f"{what}: {RESOURCES} with {pack}, {unit}"] = round(cost, 2)
        none, empty, ours = costs.values()
        adds = {"an empty pack adds": empty - none, "our rules add": ours - empty}
        for which, cost in adds.items():
            measured[f"{what}: {which} to each, {unit}"] = round(cost / RESOURCES, 4)
    return measured


MEASUREMENTS: Final = {"checks": _checks, "packs": _packs}


if __name__ == "__main__":
    main()
