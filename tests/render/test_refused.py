"""Each folder of `refused/` is one rule of validation; the messages are the reference's own."""

from pathlib import Path

import pytest
import yaml

from trainer_infra.api.runtime import ClusterTrainingRuntime
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.lifecycle import admission
from trainer_infra.render.behaviour import Behaviour
from trainer_infra.render.plugins import PLUGINS, volcano

CASES = sorted((Path(__file__).parent / "refused").iterdir())
NO_CLASSES = Behaviour(
    tuple(volcano.plugin(()) if each is volcano.PLUGIN else each for each in PLUGINS)
)
"""A cluster that is known to have no PriorityClass."""


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_refuses_with_the_messages_of_the_reference(case: Path) -> None:
    job = TrainJob.from_wire(yaml.safe_load((case / "trainjob.yaml").read_text()))
    runtime = ClusterTrainingRuntime.from_wire(yaml.safe_load((case / "runtime.yaml").read_text()))
    theirs = yaml.safe_load((case / "reference.yaml").read_text())["errors"]

    of_runtime = admission.judge_runtime(runtime, behaviour=NO_CLASSES).problems
    of_job = admission.judge_train_job(job, runtime, behaviour=NO_CLASSES).problems

    said = {(each.path, each.what) for each in (*of_runtime, *of_job)}
    assert {(each["field"], each["detail"]) for each in theirs} == said
