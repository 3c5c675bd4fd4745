"""Kubeflow Trainer v2 as Pulumi code: the public names and nothing else.

Attributes are loaded on first use (PEP 562), so that a packaging script that needs only
CustomTrainer imports no Pulumi.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trainer_infra.api.fault_tolerance import FaultTolerance, with_fault_tolerance
    from trainer_infra.deploy.run_result import RunResult
    from trainer_infra.deploy.runtime_resources import ClusterTrainingRuntime, TrainingRuntime
    from trainer_infra.deploy.train_job_resource import TrainJob, TrainJobResult
    from trainer_infra.deploy.train_jobs_resource import TrainJobArgs, TrainJobs, TrainJobsResult
    from trainer_infra.trainers.custom import CustomTrainer
    from trainer_infra.trainers.secret import Secret
    from trainer_infra.trainers.wire_types import InitializerArgs, RuntimePatchArgs, TrainerArgs

__all__ = [
    "ClusterTrainingRuntime",
    "CustomTrainer",
    "FaultTolerance",
    "InitializerArgs",
    "RunResult",
    "RuntimePatchArgs",
    "Secret",
    "TrainJob",
    "TrainJobArgs",
    "TrainJobResult",
    "TrainJobs",
    "TrainJobsResult",
    "TrainerArgs",
    "TrainingRuntime",
    "with_fault_tolerance",
]

_HOME = {
    "ClusterTrainingRuntime": "trainer_infra.deploy.runtime_resources",
    "CustomTrainer": "trainer_infra.trainers.custom",
    "FaultTolerance": "trainer_infra.api.fault_tolerance",
    "InitializerArgs": "trainer_infra.trainers.wire_types",
    "RunResult": "trainer_infra.deploy.run_result",
    "RuntimePatchArgs": "trainer_infra.trainers.wire_types",
    "Secret": "trainer_infra.trainers.secret",
    "TrainJob": "trainer_infra.deploy.train_job_resource",
    "TrainJobArgs": "trainer_infra.deploy.train_jobs_resource",
    "TrainJobResult": "trainer_infra.deploy.train_job_resource",
    "TrainJobs": "trainer_infra.deploy.train_jobs_resource",
    "TrainJobsResult": "trainer_infra.deploy.train_jobs_resource",
    "TrainerArgs": "trainer_infra.trainers.wire_types",
    "TrainingRuntime": "trainer_infra.deploy.runtime_resources",
    "with_fault_tolerance": "trainer_infra.api.fault_tolerance",
}


def __getattr__(name: str) -> Any:
    """Load a public name from its room on first use."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names."""
    return sorted(__all__)
