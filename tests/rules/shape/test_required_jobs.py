"""Where no job can be taken for the missing one, the list of jobs is named."""

from typing import Any

import pytest

from trainer_infra.rules import subject, world
from trainer_infra.rules.judge import ConfiguredRule, judge
from trainer_infra.rules.shape.runtimes import REQUIRED_JOBS as RULE

LABEL = "trainer.kubeflow.org/trainjob-ancestor-step"
JOBS = ("spec", "template", "spec", "replicatedJobs")


def job(name: str, step: str | None = None) -> dict[str, Any]:
    labels = {"metadata": {"labels": {LABEL: step}}} if step else {}
    containers = [{"name": "node", "image": "example.com/mpi"}]
    return {
        "name": name,
        "template": {**labels, "spec": {"template": {"spec": {"containers": containers}}}},
    }


def findings(mpi: dict[str, Any], *jobs: dict[str, Any]) -> list[tuple[Any, ...]]:
    judged = subject.subject_of(
        {
            "apiVersion": "trainer.kubeflow.org/v1alpha1",
            "kind": "ClusterTrainingRuntime",
            "metadata": {"name": "mpi-small"},
            "spec": {
                "mlPolicy": {"mpi": mpi},
                "template": {"spec": {"replicatedJobs": list(jobs)}},
            },
        }
    )
    found = judge(judged, world.world_of([judged]), [ConfiguredRule.default(RULE)])
    return [(finding.path, finding.what) for each in found for finding in each.findings]


@pytest.mark.parametrize(
    ("mpi", "jobs", "expected"),
    [
        ({}, (job("node", "trainer"),), [(JOBS, "has no job 'launcher', which MPI needs")]),
        ({}, (job("launcher", "trainer"),), [(JOBS, "has no job 'node', which MPI needs")]),
        ({"runLauncherAsNode": True}, (job("launcher", "trainer"),), []),
        (
            {},
            (job("node"), job("one", "trainer"), job("two")),
            [(JOBS, "has no job 'launcher', which MPI needs")],
        ),
    ],
)
def test_mpi_finds_its_jobs_by_name(
    mpi: dict[str, Any], jobs: tuple[dict[str, Any], ...], expected: list[tuple[Any, ...]]
) -> None:
    assert findings(mpi, *jobs) == expected
