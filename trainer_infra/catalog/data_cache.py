"""torch-distributed-with-cache: PyTorch whose data comes from a cache that an initializer starts.

Facts: reference behaviour 8.1, the reference's data-cache overlay. The cache's pods
are made by the initializer, whose service account must exist in the namespace of the TrainJob.
"""

from typing import Any, Final

from trainer_infra import names
from trainer_infra.api.runtime import MLPolicy, Torch, TrainingRuntimeSpec
from trainer_infra.catalog import shipped_runtime
from trainer_infra.catalog.one_job import TORCH_IMAGE
from trainer_infra.catalog.shipped_runtime import IMAGES, TAG, ShippedRuntime

SERVICE_ACCOUNT: Final = "kubeflow-trainer-cache-initializer"
CACHE_IMAGE: Final = f"{IMAGES}/data-cache:{TAG}"


def _train_job_name() -> dict[str, Any]:
    field = {"apiVersion": "v1", "fieldPath": f"metadata.labels['{names.JOBSET_NAME_LABEL}']"}
    return {"name": "TRAIN_JOB_NAME", "valueFrom": {"fieldRef": field}}


def _initializer() -> dict[str, Any]:
    name = names.DATASET_INITIALIZER
    container = {
        "name": name,
        "image": f"{IMAGES}/{name}:{TAG}",
        "env": [{"name": "CACHE_IMAGE", "value": CACHE_IMAGE}, _train_job_name()],
    }
    job = shipped_runtime.replicated_job(name, container, name, serviceAccountName=SERVICE_ACCOUNT)
    return {"name": name, "replicas": 1, "template": job["template"]}


def _spec() -> TrainingRuntimeSpec:
    node = shipped_runtime.node_job(TORCH_IMAGE, env=[_train_job_name()])
    return shipped_runtime.runtime_spec(
        MLPolicy(num_nodes=1, torch=Torch()),
        _initializer(),
        shipped_runtime.depends_on(node, "Complete", names.DATASET_INITIALIZER),
    )


TORCH_DISTRIBUTED_WITH_CACHE: Final = ShippedRuntime(
    "torch-distributed-with-cache",
    "torch",
    "PyTorch with torchrun, fed from a distributed data cache",
    _spec,
    labels=((names.WEBHOOK_VALIDATION_LABEL, "disabled"),),
)
