"""torch-distributed: one job `node` for torchrun, without command or resources of its own."""

from typing import Final

from trainer_infra import names
from trainer_infra.api.base import ObjectMeta
from trainer_infra.api.runtime import (
    ClusterTrainingRuntime,
    JobSetTemplate,
    MLPolicy,
    Torch,
    TrainingRuntimeSpec,
)
from trainer_infra.catalog import replicated_jobs

IMAGE: Final = "pytorch/pytorch:2.13.0-cuda13.0-cudnn9-runtime"

RUNTIME: Final = ClusterTrainingRuntime(
    metadata=ObjectMeta(name="torch-distributed", labels={names.FRAMEWORK_LABEL: "torch"}),
    spec=TrainingRuntimeSpec(
        ml_policy=MLPolicy(num_nodes=1, torch=Torch()),
        template=JobSetTemplate(spec={"replicatedJobs": [replicated_jobs.node(IMAGE)]}),
    ),
)
