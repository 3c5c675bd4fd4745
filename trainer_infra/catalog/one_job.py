"""Runtimes of one job `node`, without command or resources of its own: the policy is all they say.

torch-distributed, jax-distributed and xgboost-distributed are the reference's
(reference behaviour 8.1). flux-distributed has the name, image and policy of its
flux example, and plain-distributed is ours: nodes without a framework.
"""

from typing import Any, Final

from trainer_infra.api.runtime import JAX, Flux, MLPolicy, Torch, TrainingRuntimeSpec, XGBoost
from trainer_infra.catalog import shipped_runtime
from trainer_infra.catalog.shipped_runtime import IMAGES, TAG, ShippedRuntime

TORCH_IMAGE: Final = "pytorch/pytorch:2.13.0-cuda13.0-cudnn9-runtime"


def _spec(image: str, **framework: Any) -> TrainingRuntimeSpec:
    return shipped_runtime.runtime_spec(
        MLPolicy(num_nodes=1, **framework), shipped_runtime.node_job(image)
    )


TORCH_DISTRIBUTED: Final = ShippedRuntime(
    "torch-distributed",
    "torch",
    "PyTorch with torchrun, on any number of nodes",
    lambda: _spec(TORCH_IMAGE, torch=Torch()),
)

JAX_DISTRIBUTED: Final = ShippedRuntime(
    "jax-distributed",
    "jax",
    "JAX with jax.distributed, a process on each node",
    lambda: _spec("nvcr.io/nvidia/jax:25.10-py3", jax=JAX()),
)

XGBOOST_DISTRIBUTED: Final = ShippedRuntime(
    "xgboost-distributed",
    "xgboost",
    "XGBoost with its tracker, a worker for each GPU",
    lambda: _spec(f"{IMAGES}/xgboost-runtime:{TAG}", xgboost=XGBoost()),
)

FLUX_DISTRIBUTED: Final = ShippedRuntime(
    "flux-distributed",
    "flux",
    "MPI and HPC programs under the Flux scheduler",
    # Flux is copied in from an image of the same Ubuntu release, whose libraries it needs.
    lambda: _spec("ubuntu:jammy", flux=Flux()),
)

PLAIN_DISTRIBUTED: Final = ShippedRuntime(
    "plain-distributed",
    "plain",
    "any program on numbered nodes, without a framework",
    lambda: _spec("python:3.13-slim"),
)
