"""Small v1 jobs, and what becomes of them."""

from typing import Any

import yaml

from trainer_infra import migrate
from trainer_infra.errors import InvalidInput
from trainer_infra.migrate.migration import Migration

FIELDS = {
    "PyTorchJob": ("pytorchReplicaSpecs", "pytorch"),
    "XGBoostJob": ("xgbReplicaSpecs", "xgboost"),
    "JAXJob": ("jaxReplicaSpecs", "jax"),
    "MPIJob": ("mpiReplicaSpecs", "mpi"),
}
RANK = {
    "fieldRef": {"fieldPath": "metadata.annotations['batch.kubernetes.io/job-completion-index']"}
}


def pod(name: str, **container: Any) -> dict[str, Any]:
    """A pod template of one container."""
    return {"spec": {"containers": [{"name": name, "image": "i", **container}]}}


def v1(kind: str, version: str = "v1", /, spec: Any = None, **replicas: Any) -> dict[str, Any]:
    """A job `j` in namespace `n`; each replica type is a number of pods or a whole replica."""
    field, container = FIELDS[kind]
    types = {
        name: {"replicas": given, "template": pod(container, command=["python", "t.py"])}
        if isinstance(given, int)
        else given
        for name, given in replicas.items()
    }
    return {
        "apiVersion": f"kubeflow.org/{version}",
        "kind": kind,
        "metadata": {"name": "j", "namespace": "n"},
        "spec": {field: types, **(spec or {})},
    }


def migrated(job: dict[str, Any]) -> Migration:
    """Its migration, which changes nothing of it."""
    before = yaml.safe_dump(job)
    result = migrate.migrate_job(job)
    assert yaml.safe_dump(job) == before
    return result


def notes(job: dict[str, Any]) -> list[str]:
    return [str(note) for note in migrated(job).notes]


def spec_of(job: dict[str, Any]) -> Any:
    """spec of the TrainJob."""
    return migrated(job).train_job.to_wire()["spec"]


def runtime_of(job: dict[str, Any]) -> Any:
    """spec of the TrainingRuntime."""
    return migrated(job).runtime.to_wire()["spec"]


def jobs_of(job: dict[str, Any]) -> Any:
    """JobSpecs of the runtime by name, in their order."""
    jobs = runtime_of(job)["template"]["spec"]["replicatedJobs"]
    return {each["name"]: each["template"]["spec"] for each in jobs}


def container_of(job: dict[str, Any], name: str = "node") -> Any:
    """The first container of a job of the runtime."""
    return jobs_of(job)[name]["template"]["spec"]["containers"][0]


def env_of(job: dict[str, Any], name: str = "node") -> dict[str, Any]:
    """Its variables."""
    return {
        each["name"]: each.get("value", each.get("valueFrom"))
        for each in container_of(job, name).get("env", ())
    }


def refusal(job: dict[str, Any]) -> list[str]:
    try:
        migrate.migrate_job(job)
    except InvalidInput as error:
        return [str(problem) for problem in error.problems]
    raise AssertionError("it was migrated")
