"""Trainers of other packages, as their authors write them."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pulumi
import pytest

from tests.deploy.mock_engine import MockEngine, constructed, unknown
from trainer_infra import TrainJob
from trainer_infra.trainers.pods.pod_arguments import PodArguments
from trainer_infra.trainers.trainer import PackedTrainer

STEPS = {"small": "10", "large": "1000"}


@dataclass(frozen=True, slots=True)
class SizedTrainer(PodArguments):
    """Looks a size up in a table, and computes a field of its own."""

    size: Any
    start: list[Any] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "start", ["train", "--size", self.size])

    def pack(self) -> PackedTrainer:
        """Its command."""
        command = {"command": [*self.start, "--steps", STEPS[self.size]]}
        return PackedTrainer(None, command | self.spec_trainer(), self.secret_data())


@pytest.mark.parametrize(
    "size", ["small", lambda: pulumi.Output.from_input("small")], ids=["plain", "output"]
)
def test_a_field_that_a_trainer_computes_is_computed_of_the_opened_values(
    engine: MockEngine, size: str | Callable[[], Any]
) -> None:
    def program() -> None:
        trainer = SizedTrainer(size if isinstance(size, str) else size())
        TrainJob("x", runtime="plain-distributed", trainer=trainer)

    constructed(program)
    (inputs,) = engine.inputs
    assert inputs["spec"]["trainer"] == {"command": ["train", "--size", "small", "--steps", "10"]}


def test_a_trainer_that_fails_on_what_is_not_known_yet_fails_no_preview(engine: MockEngine) -> None:
    constructed(lambda: TrainJob("x", runtime="plain-distributed", trainer=SizedTrainer(unknown())))
    (inputs,) = engine.inputs
    assert isinstance(inputs["spec"], pulumi.output.Unknown)
