"""What is not a v1 job, or has fields that v1 does not have, is refused with the place."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.migrate.jobs import migrated, notes, refusal, v1
from tools import schemas
from trainer_infra import migrate

EXAMPLES = (
    ("github.com/kubeflow/training-operator", "v1.9.3"),
    ("github.com/kubeflow/mpi-operator", "v0.6.0"),
)
OTHER_MPI = {"pi-intel.yaml", "pi-mpich.yaml"}
OLD_FORM = {"xgboostjob_v1alpha1_rabit_test.yaml"}


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (
            {"apiVersion": "kubeflow.org/v1", "kind": "TFJob"},
            (
                "kind: has no counterpart: v2 has no TensorFlow runtime, and nothing writes TF_CONFIG, "
                "got 'TFJob'; write a TrainingRuntime without a framework, whose pods find each other "
                "as <job>-node-0-<index>.<job>"
            ),
        ),
        (
            {"apiVersion": "kubeflow.org/v1", "kind": "PaddleJob"},
            (
                "kind: has no counterpart: v2 has no PaddlePaddle runtime, got 'PaddleJob'; write a "
                "TrainingRuntime without a framework, whose pods find each other as "
                "<job>-node-0-<index>.<job>"
            ),
        ),
        (
            {"apiVersion": "batch/v1", "kind": "Job"},
            "kind: is not a v1 job, got 'Job'; known are PyTorchJob, MPIJob, XGBoostJob, JAXJob",
        ),
        (
            {"apiVersion": "kubeflow.org/v2beta1", "kind": "PyTorchJob"},
            "apiVersion: must be kubeflow.org/v1, got 'kubeflow.org/v2beta1'",
        ),
        (
            {"apiVersion": "kubeflow.org/v1alpha2", "kind": "MPIJob"},
            (
                "apiVersion: must be kubeflow.org/v1 or kubeflow.org/v2beta1, "
                "got 'kubeflow.org/v1alpha2'"
            ),
        ),
    ],
    ids=lambda value: value["kind"] if isinstance(value, dict) else "",
)
def test_other_kinds_are_refused_with_the_reason(value: Any, problem: str) -> None:
    assert refusal(value) == [problem]


def test_every_unknown_field_and_wrong_value_is_told() -> None:
    job = v1("PyTorchJob", spec={"runPolicy": {"backoffLimits": 1}, "nprocPerNode": 2}, Workers=1)
    job["metadata"] = {"generateName": "j-"}
    assert refusal(job) == [
        "spec.pytorchReplicaSpecs.Workers: unknown field; did you mean Worker?",
        "spec.runPolicy.backoffLimits: unknown field; did you mean backoffLimit?",
        "spec.nprocPerNode: must be a string, got 2; put it in quotes",
        "metadata.name: is required; write one: the runtime is named as the job is",
    ]


def test_what_v2_refuses_is_refused() -> None:
    job = v1("JAXJob", Worker=1)
    job["metadata"]["name"] = "j" * 60
    (problem,) = refusal(job)
    assert "metadata.name" in problem


def test_what_an_api_server_added_is_left_behind() -> None:
    job = v1("JAXJob", Worker=1)
    job["status"] = {"startTime": "2026-01-01T00:00:00Z"}
    job["metadata"] |= {
        "uid": "u",
        "resourceVersion": "1",
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "managedFields": [],
        "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}"},
        "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}],
    }
    assert migrated(job).train_job.to_wire()["metadata"] == {"name": "j", "namespace": "n"}
    assert notes(job)[-1].endswith("is lost: the owner of the v1 job does not know the TrainJob")


def test_fields_of_metadata_that_kubernetes_no_longer_has_are_told() -> None:
    job = v1("JAXJob", Worker=1)
    job["metadata"] |= {"clusterName": "c", "selfLink": "/x"}
    assert (
        notes(job)[-1] == "metadata.clusterName: 'c': is lost: Kubernetes no longer has this field"
    )


@pytest.mark.verify
def test_every_example_of_the_v1_operators_is_migrated() -> None:
    found = [
        (path.name, job)
        for module in EXAMPLES
        for path in sorted((schemas.module_folder(*module) / "examples").rglob("*.yaml"))
        for job in _jobs(path)
    ]
    assert len(found) > 20
    for name, job in found:
        if name in OTHER_MPI:
            assert "spec.mpiImplementation" in refusal(job)[0]
        elif name in OLD_FORM:
            assert "template.apiVersion: unknown field" in refusal(job)[0]
        else:
            migrated(job)


def _jobs(path: Path) -> list[Any]:
    return [
        each
        for each in yaml.safe_load_all(path.read_text())
        if isinstance(each, dict) and each.get("kind") in migrate.KINDS
    ]
