"""What the pure core does on one processor: renders and validations, as JSON.

Run by `tools/bench/run.py` as a process of its own, so that its numbers hold no other's imports.
Each number is the median of the rounds. With `--profile` it prints instead where the time of a
torch rendering goes.
"""

import argparse
import cProfile
import json
import pstats
import statistics
import time
from collections.abc import Callable
from typing import Any, Final

from trainer_infra import catalog
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.lifecycle import admission
from trainer_infra.render import pipeline

JSON = dict[str, Any]

JOBS: Final = 10_000
"""TrainJobs of the validation measurement."""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="rounds of each measurement")
    parser.add_argument(
        "--profile", action="store_true", help="where a torch rendering's time goes"
    )
    arguments = parser.parse_args()
    if arguments.profile:
        _profile()
        return
    torch, mpi = rendering("torch-distributed", 3), rendering("deepspeed-distributed", 1_000)
    found = {
        "torch renders per second": _rate(torch, 2_000, arguments.rounds),
        "1,000-node MPI renders per second": _rate(mpi, 200, arguments.rounds),
        f"validate {JOBS:,} TrainJobs, seconds": _seconds(validation(), arguments.rounds),
    }
    print(json.dumps(found))


def wire(runtime: str, nodes: int) -> JSON:
    """A TrainJob as a user writes it."""
    trainer = {
        "image": "example.com/train:1",
        "command": ["python", "train.py"],
        "args": ["--epochs", "3"],
        "numNodes": nodes,
        "numProcPerNode": 8,
        "env": [{"name": "DATA", "value": "/data"}],
        "resourcesPerNode": {"limits": {"cpu": "16", "memory": "64Gi", "nvidia.com/gpu": "8"}},
    }
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "tj", "namespace": "team"},
        "spec": {"runtimeRef": {"name": runtime}, "trainer": trainer},
    }


def rendering(runtime: str, nodes: int) -> Callable[[], object]:
    """One rendering of a typed TrainJob."""
    job, on = TrainJob.from_wire(wire(runtime, nodes)), catalog.get(runtime)
    return lambda: pipeline.render(job, on)


def validation() -> Callable[[], object]:
    """Read and judge TrainJobs as an API server hands them over."""
    on = catalog.get("torch-distributed")
    jobs = [wire("torch-distributed", 1 + number % 64) for number in range(JOBS)]

    def judged() -> None:
        for job in jobs:
            verdict = admission.judge_train_job(TrainJob.from_wire(job), on)
            if verdict.problems:
                raise SystemExit(f"a job of the benchmark is refused: {verdict.problems}")

    return judged


def _rate(work: Callable[[], object], times: int, rounds: int) -> int:
    def repeated() -> None:
        for _ in range(times):
            work()

    return round(times / _seconds(repeated, rounds))


def _seconds(work: Callable[[], object], rounds: int) -> float:
    work()
    measured = []
    for _ in range(rounds):
        started = time.perf_counter()
        work()
        measured.append(time.perf_counter() - started)
    return round(statistics.median(measured), 3)


def _profile() -> None:
    work = rendering("torch-distributed", 3)
    profiler = cProfile.Profile()
    profiler.enable()
    for _ in range(3_000):
        work()
    profiler.disable()
    pstats.Stats(profiler).strip_dirs().sort_stats("tottime").print_stats(12)


if __name__ == "__main__":
    main()
