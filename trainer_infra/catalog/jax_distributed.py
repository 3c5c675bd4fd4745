"""jax-distributed: one job `node` for jax.distributed, without command or resources of its own."""

from typing import Final

from trainer_infra import names
from trainer_infra.api.base import ObjectMeta
from trainer_infra.api.runtime import (
    JAX,
    ClusterTrainingRuntime,
    JobSetTemplate,
    MLPolicy,
    TrainingRuntimeSpec,
)
from trainer_infra.catalog import replicated_jobs

IMAGE: Final = "nvcr.io/nvidia/jax:25.10-py3"

RUNTIME: Final = ClusterTrainingRuntime(
    metadata=ObjectMeta(name="jax-distributed", labels={names.FRAMEWORK_LABEL: "jax"}),
    spec=TrainingRuntimeSpec(
        ml_policy=MLPolicy(num_nodes=1, jax=JAX()),
        template=JobSetTemplate(spec={"replicatedJobs": [replicated_jobs.node(IMAGE)]}),
    ),
)
