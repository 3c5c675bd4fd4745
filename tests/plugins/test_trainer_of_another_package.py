"""A trainer of a package outside ours brings its launcher, and trains."""

import importlib
from typing import Any

import pytest

from tests.deploy.project import Stack
from trainer_infra.errors import InvalidInput

PROGRAM = """
from acme_trainer import AcmeTrainer
job = TrainJob("line", runtime="plain-distributed", wait_for="complete",
               trainer=AcmeTrainer({points}, workers=pulumi.Output.from_input(3)))
pulumi.export("line", job.metrics)
"""


def test_it_trains_under_its_own_launcher(stack: Stack) -> None:
    stack.program(PROGRAM.format(points=100))
    stack.up()
    found: Any = stack.outputs()["line"]
    assert (found["slope"], found["intercept"], found["workers"]) == (3, 2, 3)
    stack.unchanged()


def test_its_problems_are_said_at_preview(stack: Stack) -> None:
    stack.program(PROGRAM.format(points=5))
    said = stack.preview(ok=False)
    assert "TrainJob line: points: are too few for the workers, got 5; give at least 6" in said


def test_it_is_packed_as_ours_are() -> None:
    trainer = importlib.import_module("acme_trainer").AcmeTrainer

    packed = trainer(10, packages=["acme==1"], num_nodes=2).pack()
    assert packed.trainer == {"args": ["10"], "numNodes": 2}
    assert packed.code.launcher[-2:] == ("2", "python")
    assert "packages.py" in packed.code.files
    with pytest.raises(InvalidInput, match="num_nodes: must be a whole number from 1, got 0"):
        trainer(10, num_nodes=0).pack()
