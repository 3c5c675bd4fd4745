"""A training loop of one's own, in a process of its own: what it would report, printed."""

import subprocess
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from trainer_infra.in_pod.callbacks.loop import process_of
from trainer_infra.in_pod.callbacks.training_progress import batch_size

LOOP = """
from trainer_infra.callbacks import TrainingLoop, steps
from trainer_infra.report import report
"""


def printed(code: str, **env: str) -> list[str]:
    """The lines of standard output; nothing may stand on standard error."""
    command = [sys.executable, "-c", LOOP + code]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True, timeout=600)
    assert done.stderr == ""
    return done.stdout.splitlines()


def test_steps_gives_every_batch_of_every_epoch_and_reports_the_end() -> None:
    code = "print(sum(len(batch) for batch in steps([[1] * 8] * 5, epochs=3)))"
    first, second, *_, last, total = printed(code)
    assert (first, total) == ("progress 0%", "120")
    assert last.startswith("progress 100%  remaining 0s  step=15  epoch=3.0  samples_per_second=")
    # A second passes between two lines that are printed by hand; the first step is always shown.
    assert second.split("  ")[0] == "progress 6%"
    facts = dict(each.split("=") for each in second.split("  ")[2:])
    assert (facts["step"], facts["epoch"]) == ("1", "0.2")
    assert float(facts["samples_per_second"]) > 0


def test_a_break_is_not_the_end() -> None:
    assert printed("for batch in steps([1, 2, 3]): break") == ["progress 0%"]


def test_batches_without_a_length_have_no_progress() -> None:
    lines = printed("print(list(steps(iter('ab'))))")
    assert lines[0].startswith("step=1  epoch=0.0")
    assert lines[-2].startswith("progress 100%  remaining 0s  step=2  epoch=0.0")
    assert lines[-1] == "['a', 'b']"


def test_a_loop_reports_its_metrics() -> None:
    code = (
        "loop = TrainingLoop(4)\nloop.step(samples=8, loss=0.25, epoch=1)\nloop.end(accuracy=0.9)"
    )
    lines = printed(code)
    assert lines[1].startswith("progress 25%  remaining 0s  step=1  epoch=1  loss=0.25  samples")
    assert lines[2:] == ["progress 100%  remaining 0s  accuracy=0.9"]


def test_a_metric_of_any_name_and_a_launcher_of_nonsense_do_not_end_the_training() -> None:
    code = "loop = TrainingLoop(4)\nloop.step(progress=7, remaining=8, **{'a b': 1})\nprint('on')"
    assert printed(code)[-1] == "on"
    command = [sys.executable, "-c", f"{LOOP}{code}"]
    done = subprocess.run(
        command, env={"RANK": "first"}, capture_output=True, text=True, check=True, timeout=600
    )
    assert done.stdout == "on\n"
    assert done.stderr == (
        "trainer_infra.callbacks: TrainingLoop did not report, training goes on: "
        "ValueError(\"invalid literal for int() with base 10: 'first'\")\n"
    )


@pytest.mark.parametrize(
    ("env", "number", "count"),
    [
        ({}, 0, 1),
        ({"JOB_COMPLETION_INDEX": "2"}, 2, 1),
        ({"JOB_COMPLETION_INDEX": "1", "JAX_PROCESS_ID": "0", "JAX_NUM_PROCESSES": "2"}, 0, 2),
        ({"JOB_COMPLETION_INDEX": "0", "RANK": "3", "WORLD_SIZE": "8"}, 3, 8),
        ({"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "4", "JAX_PROCESS_ID": "0"}, 1, 4),
    ],
)
def test_the_first_variable_of_a_launcher_that_is_set_says_which_process_this_is(
    env: dict[str, str], number: int, count: int
) -> None:
    assert process_of(env) == (number, count)
    lines = printed("TrainingLoop(2).step(samples=1)", **env)
    assert bool(lines) is (number == 0)


@dataclass
class Tokens:
    """What tokenizers return is a mapping or has fields."""

    shape: tuple[int, ...]


@pytest.mark.parametrize(
    ("batch", "size"),
    [
        (np.zeros((32, 3)), 32),
        ((np.zeros((16, 3)), np.zeros(16)), 16),
        ({"input_ids": Tokens((4, 128)), "labels": Tokens((4,))}, 4),
        (["a", "b", "c"], 3),
        ([{"text": "a"}, {"text": "b"}], 2),
        (np.float32(1), 0),
        ("text", 0),
        (7, 0),
        ({}, 0),
    ],
)
def test_the_first_array_of_a_batch_says_how_many_samples_it_has(batch: Any, size: int) -> None:
    assert batch_size(batch) == size


def test_a_callback_loads_no_framework_but_its_own() -> None:
    code = """
import sys, trainer_infra.callbacks as found
print(sorted(found.__all__) == dir(found))
found.steps
print([name for name in ("torch", "transformers", "lightning", "xgboost", "pulumi") if name in sys.modules])
try:
    found.Steps
except AttributeError as error:
    print(error)
"""
    assert printed(code) == [
        "True",
        "[]",
        "module 'trainer_infra.callbacks' has no attribute 'Steps'",
    ]
