"""Each folder of `golden/` is one case: what the spec says a TrainJob renders to on a runtime."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from trainer_infra import catalog
from trainer_infra.api.runtime import ClusterTrainingRuntime, Runtime, TrainingRuntime
from trainer_infra.api.trainjob import TrainJob
from trainer_infra.render import pipeline

CASES = sorted((Path(__file__).parent / "golden").iterdir())


def load(path: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(path.read_text())
    return loaded


def runtime_of(case: Path, job: TrainJob) -> Runtime:
    path = case / "runtime.yaml"
    if not path.exists():
        return catalog.get(job.spec.runtime_ref.name)
    wire = load(path)
    kind = TrainingRuntime if wire["kind"] == "TrainingRuntime" else ClusterTrainingRuntime
    return kind.from_wire(wire)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_renders_as_the_spec_says(case: Path) -> None:
    wire = load(case / "trainjob.yaml")
    job = TrainJob.from_wire(wire)
    runtime = runtime_of(case, job)
    before = (job.to_wire(), runtime.to_wire())

    objects = list(pipeline.render(job, runtime))

    assert objects == list(yaml.safe_load_all((case / "objects.yaml").read_text()))
    assert (job.to_wire(), runtime.to_wire()) == before
    assert job.to_wire() == wire
