"""Which frameworks read the number of processes, and where it is to be changed."""

from typing import Any

import pytest

from trainer_infra.rules import tree, world
from trainer_infra.rules.capacity import training_nodes
from trainer_infra.rules.judge import ConfiguredRule, judge

ASKS = {"resourcesPerNode": {"limits": {"nvidia.com/gpu": 4}}}
OWN = ("spec", "trainer", "numProcPerNode")


def found(policy: dict[str, Any], trainer: dict[str, Any]) -> list[Any]:
    container = {"name": "node", "image": "train:v7"}
    job = {
        "metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
        "spec": {"template": {"spec": {"containers": [container]}}},
    }
    runtime = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "ClusterTrainingRuntime",
        "metadata": {"name": "ours"},
        "spec": {
            "mlPolicy": policy,
            "template": {"spec": {"replicatedJobs": [{"name": "node", "template": job}]}},
        },
    }
    value = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "digits", "namespace": "vision"},
        "spec": {"runtimeRef": {"name": "ours"}, "trainer": trainer},
    }
    subject, _ = tree.subjects_of([value, runtime])
    assert subject.problems == ()
    judged = judge(
        subject,
        world.world_of([subject]),
        [ConfiguredRule.default(training_nodes.PROCESSES_PER_GPU)],
    )
    return [each.path for one in judged for each in one.findings]


@pytest.mark.parametrize(
    ("policy", "trainer", "expected"),
    [
        pytest.param({"torch": {}}, ASKS, [], id="torch chooses by itself"),
        pytest.param({"torch": {}}, {"numProcPerNode": 2}, [], id="no GPUs"),
        pytest.param({"mpi": {"numProcPerNode": 1}}, ASKS, [], id="1 of MPI is each GPU"),
        pytest.param({"mpi": {"numProcPerNode": 2}}, ASKS, [OWN], id="the runtime's number"),
        pytest.param(
            {"mpi": {"numProcPerNode": 2}}, {**ASKS, "numProcPerNode": 4}, [], id="the job's number"
        ),
        pytest.param({"flux": {"numProcPerNode": 8}}, ASKS, [OWN], id="Flux"),
    ],
)
def test_who_reads_the_number(
    policy: dict[str, Any], trainer: dict[str, Any], expected: list[Any]
) -> None:
    assert found(policy, trainer) == expected
