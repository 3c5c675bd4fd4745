"""A training by a real framework in pods, disturbed again and again: it must end as one that was left alone."""

import random
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from from_source.cluster import python
from tests.deploy.project import Stack
from tests.e2e import runtimes
from tests.e2e.cluster import PROGRAM, Namespace
from tests.e2e.jobs import eventually
from tests.e2e.survivor import DISTURBANCES, phase_at_end, run_of
from tests.e2e.test_outputs_and_retry import CLAIM

TRAINING: Final = Path(__file__).parent / "training"
LONG: Final = 1200
"""Seconds in which pods that import torch and what is built on it get on, on a busy machine."""
STEPS: Final = 600
"""Each takes a fifth of a second; to read a log takes one or two."""
_JOB: Final = """
from trainer_infra import Checkpoint
for name in ("whole", "cut"):
    TrainJob(name, runtime="%s-distributed", namespace=NS, runtime_patches=[place["patch"]],
             checkpoint=Checkpoint(uri="pvc://models/{run}", every=20, save_seconds=15),
             trainer=CustomTrainer("training:%s:train", func_args=%r, image=place["image"], num_nodes=2, env={**place["env"], "STEP_SECONDS": "0.2"},
                                   resources_per_node={"requests": {"cpu": "50m"}}))
"""


@dataclass(frozen=True)
class Framework:
    """Which runtime and packages a program has, and what it is called with."""

    runtime: str
    packages: tuple[str, ...]
    program: str
    arguments: Mapping[str, Any]


FRAMEWORKS: Final = {
    "ddp": Framework("torch", ("torch",), "survive_torch", {"how": "ddp", "steps": STEPS}),
    "fsdp2": Framework("torch", ("torch",), "survive_torch", {"how": "fsdp2", "steps": STEPS}),
    "jax": Framework("jax", ("jax",), "survive_jax", {"steps": STEPS}),
    "xgboost": Framework("xgboost", ("xgboost",), "survive_xgboost", {"rounds": STEPS}),
    "trl": Framework(
        "torch", ("trainers", "torch"), "survive_sft", {"folder": "/tmp/sft", "steps": 300}
    ),
}


def train_disturbed(stack: Stack, namespace: Namespace, name: str, times: int) -> None:
    """Run it twice, disturb one of the two in turn in all ways, and compare how they end."""
    framework, drawn = FRAMEWORKS[name], random.Random(name)
    packages = enumerate(map(python.environment, framework.packages))
    runtimes.describe_pods(
        stack.folder, {f"{runtimes.PACKAGES}{at}": each for at, each in packages}
    )
    shutil.copytree(
        TRAINING, stack.folder / "training", ignore=shutil.ignore_patterns("__pycache__")
    )
    namespace.kubectl("apply", "-f", "-", given=CLAIM)
    job = _JOB % (framework.runtime, framework.program, dict(framework.arguments))
    stack.program(PROGRAM + job)
    stack.up()
    whole, cut = (stack.job(each)["name"] for each in ("whole", "cut"))
    reached = 0
    for number in range(times):
        reached = eventually(
            partial(_step, stack, namespace, cut, reached + drawn.randrange(2, 20)), LONG
        )
        pods = [each for each in namespace.names("pods") if run_of(each) == cut]
        how = [*DISTURBANCES][number % len(DISTURBANCES)]
        DISTURBANCES[how](stack, namespace, drawn.choice(pods))
    ends = [_end(stack, namespace, each) for each in (whole, cut)]
    assert ends[0] == ends[1], ends


def _said(stack: Stack, namespace: Namespace, name: str, pattern: str) -> list[str]:
    return re.findall(pattern, stack.trainer("logs", name, "-n", namespace.name))


def _step(stack: Stack, namespace: Namespace, name: str, least: int) -> int:
    """The step that the first process has done, once it is as many as wanted; 0 before."""
    done = max(map(int, _said(stack, namespace, name, r"done (\d+)")), default=0)
    return done if done >= least else 0


def _end(stack: Stack, namespace: Namespace, name: str) -> str:
    """What it says at its end."""
    phase = phase_at_end(stack, namespace, name, LONG)
    assert phase == "Complete", stack.trainer("describe", name, "-n", namespace.name)
    (said,) = _said(stack, namespace, name, r"ends (.*)")
    return str(said)
