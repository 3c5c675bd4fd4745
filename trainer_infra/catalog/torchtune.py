"""torchtune-*: fine-tuning of one model each, with initializers that fetch the data and the model.

Facts: reference behaviour 8.1 for the first three. torchtune-llama3.3-70b is ours:
the one model that torchtune trains on several nodes (reference behaviour 3.3), as its configuration
`llama3_3/70B_full_multinode` of torchtune 0.6.1 assumes: two nodes of eight GPUs.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from trainer_infra import names
from trainer_infra.api.runtime import MLPolicy, Torch, TrainingRuntimeSpec
from trainer_infra.catalog import initializers, shipped_runtime
from trainer_infra.catalog.initializers import ACCESS, STORAGE, WORKSPACE
from trainer_infra.catalog.shipped_runtime import IMAGES, TAG, ShippedRuntime

MODEL: Final = f"{WORKSPACE}/model"
DATASET: Final = "hf://tatsu-lab/alpaca"

LLAMA_TOKENIZER: Final = (f"tokenizer.path={MODEL}/original/tokenizer.model",)
QWEN_TOKENIZER: Final = (
    f"tokenizer.path={MODEL}/vocab.json",
    f"tokenizer.merges_file={MODEL}/merges.txt",
)


@dataclass(frozen=True, slots=True)
class _Model:
    """What differs from model to model."""

    uri: str
    config: str
    """torchtune's configuration for all of the model's weights on several GPUs."""
    tokenizer: tuple[str, ...]
    nodes: int = 1
    gpus: int = 2
    """GPUs of each node."""
    rendezvous: str = "localhost:29500"
    access: str = ACCESS
    """Access mode of the volume that initializers and nodes share."""
    storage: str = STORAGE
    """Size of that volume: the model, its data and one output."""


def _torchtune(name: str, purpose: str, model: _Model) -> ShippedRuntime:
    return ShippedRuntime(name, "torchtune", purpose, partial(_spec, model))


def _spec(model: _Model) -> TrainingRuntimeSpec:
    claim = initializers.workspace_claim(model.storage, model.access)
    node = shipped_runtime.node_job(
        f"{IMAGES}/torchtune-trainer:{TAG}",
        command=[
            *("tune", "run", f"--rdzv_endpoint={model.rendezvous}"),
            *("full_finetune_distributed", "--config", model.config),
            "dataset=torchtune.datasets.instruct_dataset",
            "dataset.source=parquet",
            f"dataset.data_dir={WORKSPACE}/dataset/data",
            f"output_dir={WORKSPACE}/output",
            *model.tokenizer,
            f"checkpointer.checkpoint_dir={MODEL}",
        ],
        resources={"limits": {"nvidia.com/gpu": model.gpus}},
        volumeMounts=[initializers.workspace_mount()],
    )
    return shipped_runtime.runtime_spec(
        MLPolicy(num_nodes=model.nodes, torch=Torch()),
        _initializer(names.DATASET_INITIALIZER, DATASET),
        _initializer(names.MODEL_INITIALIZER, model.uri),
        shipped_runtime.depends_on(node, "Complete", *initializers.ROLES),
        volumeClaimPolicies=[{"templates": [claim]}],
    )


def _initializer(name: str, uri: str) -> dict[str, Any]:
    env = [{"name": names.STORAGE_URI, "value": uri}]
    return initializers.initializer_job(name, f"{IMAGES}/{name}:{TAG}", env=env)


def _llama(size: str) -> ShippedRuntime:
    uri, config = f"hf://meta-llama/Llama-3.2-{size}-Instruct", f"llama3_2/{size}_full"
    name, purpose = f"llama3.2-{size.lower()}", f"fine-tunes Llama 3.2 {size} with torchtune"
    return _torchtune(f"torchtune-{name}", purpose, _Model(uri, config, LLAMA_TOKENIZER))


LLAMA_3_2_1B: Final = _llama("1B")
LLAMA_3_2_3B: Final = _llama("3B")
QWEN_2_5_1_5B: Final = _torchtune(
    "torchtune-qwen2.5-1.5b",
    "fine-tunes Qwen 2.5 1.5B with torchtune",
    _Model("hf://Qwen/Qwen2.5-1.5B-Instruct", "qwen2_5/1.5B_full", QWEN_TOKENIZER),
)

LLAMA_3_3_70B: Final = _torchtune(
    "torchtune-llama3.3-70b",
    "fine-tunes Llama 3.3 70B with torchtune on two nodes of eight GPUs",
    _Model(
        "hf://meta-llama/Llama-3.3-70B-Instruct",
        "llama3_3/70B_full_multinode",
        LLAMA_TOKENIZER,
        nodes=2,
        gpus=8,
        # The kubelet expands both from the container's environment, which the torch plugin writes.
        rendezvous=f"$({names.PET_MASTER_ADDR}):$({names.PET_MASTER_PORT})",
        access="ReadWriteMany",
        storage="500Gi",
    ),
)
