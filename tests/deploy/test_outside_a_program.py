"""A file that Python starts, or a cell of a notebook, declares nothing in silence: it says what to do."""

import pulumi
import pytest

from trainer_infra import CustomTrainer, TrainingRuntime, TrainJob, TrainJobs, catalog
from trainer_infra.platform import Workspace


def train() -> None:
    pass


def test_a_resource_outside_a_program_says_how_it_would_be_made() -> None:
    """No monitor of Pulumi's is there, as where `python __main__.py` runs a program."""
    said = "nothing is created, for no Pulumi program runs here; run `pulumi up`"
    job = {"runtime": "plain-distributed", "trainer": CustomTrainer(train)}
    with pytest.raises(pulumi.RunError, match=f"TrainJob a: {said}"):
        TrainJob("a", runtime="plain-distributed", trainer=CustomTrainer(train))
    with pytest.raises(pulumi.RunError, match=f"TrainJobs b: {said}"):
        TrainJobs("b", jobs={"one": job})
    with pytest.raises(pulumi.RunError, match=f"TrainingRuntime c: {said}"):
        TrainingRuntime("c", catalog.get("plain-distributed"))
    with pytest.raises(pulumi.RunError, match=f"Workspace d: {said}"):
        Workspace("d", namespace="d")
