"""Runtimes of one job `node`, without command or resources of its own: the policy is all they say.

torch-distributed, jax-distributed and xgboost-distributed are the reference's
(reference behaviour 8.1). flux-distributed has the name, image and policy of its
flux example, and plain-distributed is ours: nodes without a framework.
"""

from collections.abc import Callable
from typing import Any, Final

from trainer_infra.api.runtime import JAX, Flux, MLPolicy, Torch, TrainingRuntimeSpec, XGBoost
from trainer_infra.catalog import shipped_runtime
from trainer_infra.catalog.shipped_runtime import IMAGES, TAG, ShippedRuntime

TORCH_IMAGE: Final = "pytorch/pytorch:2.13.0-cuda13.0-cudnn9-runtime"


def _one_job(
    framework: str, purpose: str, image: str, **policy: Callable[[], Any]
) -> ShippedRuntime:
    def spec() -> TrainingRuntimeSpec:
        field = {name: make() for name, make in policy.items()}
        return shipped_runtime.runtime_spec(
            MLPolicy(num_nodes=1, **field), shipped_runtime.node_job(image)
        )

    return ShippedRuntime(f"{framework}-distributed", framework, purpose, spec)


TORCH_DISTRIBUTED: Final = _one_job(
    "torch", "PyTorch with torchrun, on any number of nodes", TORCH_IMAGE, torch=Torch
)
JAX_DISTRIBUTED: Final = _one_job(
    "jax",
    "JAX with jax.distributed, a process on each node",
    "nvcr.io/nvidia/jax:25.10-py3",
    jax=JAX,
)
XGBOOST_DISTRIBUTED: Final = _one_job(
    "xgboost",
    "XGBoost with its tracker, a worker for each GPU",
    f"{IMAGES}/xgboost-runtime:{TAG}",
    xgboost=XGBoost,
)
# Flux is copied in from an image of the same Ubuntu release, whose libraries it needs.
FLUX_DISTRIBUTED: Final = _one_job(
    "flux", "MPI and HPC programs under the Flux scheduler", "ubuntu:jammy", flux=Flux
)
PLAIN_DISTRIBUTED: Final = _one_job(
    "plain", "any program on numbered nodes, without a framework", "python:3.13-slim"
)
