"""What needs a GPU, for whoever has one: `pytest -m gpu`. Elsewhere its tests are skipped.

The Python that runs them trains, where it has torch; else the jobs install what they need.
"""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from from_source.cluster import python
from tests.deploy.project import Stack

TRAINING: Final = Path(__file__).parent / "training"
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(shutil.which("nvidia-smi") is None, reason="this machine has no GPU"),
]
TORCH: Final = "torch==2.15.0"
WIDTH: Final = "256"
"""Of the layers of the tiny model: NF4 of torchao takes no narrower ones."""
PROGRAM = """
import json, pathlib
from trainer_infra import DeepSpeed, Fsdp2, TorchTune, Trl, Unsloth
place = json.loads(pathlib.Path("place.json").read_text())
one = dict(num_nodes=1, num_proc_per_node=1, resources_per_node={{"gpu": 1}}, env=place["env"],
           packages=place["packages"] or None)
FETCH = {{"model": {{"storageUri": f"{{place['source']}}/model"}}, "dataset": {{"storageUri": f"{{place['source']}}/{{place['dataset']}}"}}}}
TRAINING = {training!r}
job = TrainJob("gpu", runtime="torch-distributed-with-initializers" if place["dataset"] else "torch-distributed",
               initializer=FETCH if place["dataset"] else None, wait_for="complete",
               outputs=["model"] if place["dataset"] else None, trainer={trainer})
pulumi.export("status", job.status)
pulumi.export("metrics", job.metrics)
if place["dataset"]:
    pulumi.export("model", job.outputs["model"])
"""
SFT = """{"max_steps": 6, "bf16": True, "report_to": "none", "per_device_train_batch_size": 2,
"learning_rate": 0.01, "logging_steps": 2}"""
TRAINERS: Final[dict[str, tuple[str, str, tuple[str, ...]]]] = {
    "trl-qlora": (
        f'Trl("sft", lora={{"r": 4, "target_modules": ["q_proj", "v_proj"], "quantize": "4bit"}}, options={SFT}, **one)',
        "sft",
        (TORCH, "trl==1.16.0", "peft==0.21.2", "bitsandbytes==0.50.2"),
    ),
    "torchtune-qlora": (
        """TorchTune("lora_finetune_single_device", "llama3_2/1B_qlora_single_device", dtype="bf16", batch_size=2,
        lora={"r": 4, "quantize": "4bit"}, options={
        "model._component_": "torchtune.models.llama3_2.lora_llama3_2", "model.vocab_size": 128256,
        "model.num_layers": 2, "model.num_heads": 4, "model.num_kv_heads": 2, "model.embed_dim": 256,
        "model.max_seq_len": 128, "model.intermediate_dim": 512, "device": "cuda", "max_steps_per_epoch": 2,
        "compile": False, "tokenizer.path": "/workspace/model/original/tokenizer.model",
        "checkpointer.checkpoint_dir": "/workspace/model", "dataset": "torchtune.datasets.instruct_dataset",
        "dataset.source": "json", "dataset.split": "train", "dataset.data_files": "/workspace/dataset/train.jsonl",
        "dataset.column_map": {"input": "instruction", "output": "output"}}, **one)""",
        "alpaca",
        (TORCH, "torchtune==0.6.1", "torchao==0.15.0"),
    ),
    "unsloth": (
        'Unsloth(lora={"r": 4, "quantize": "4bit"}, dataset="/workspace/dataset/train.jsonl", options={"max_steps": 4}, **one)',
        "sft",
        ("unsloth[studio,huggingface]==2026.10.9",),
    ),
    "fsdp2": ('Fsdp2(f"{TRAINING}:train_on_gpu:fsdp2", precision="bfloat16", **one)', "", (TORCH,)),
    "fsdp2-offload": (
        'Fsdp2(f"{TRAINING}:train_on_gpu:fsdp2", precision="bfloat16", cpu_offload=True, **one)',
        "",
        (TORCH,),
    ),
    "deepspeed-offload": (
        """DeepSpeed(f"{TRAINING}:train_on_gpu:deepspeed", zero=3, offload="parameters", config={
        "train_micro_batch_size_per_gpu": 256, "bf16": {"enabled": True}, "zero_force_ds_cpu_optimizer": False,
        "optimizer": {"type": "Adam", "params": {"lr": 0.01, "torch_adam": True}}}, **one)""",
        "",
        (TORCH, "deepspeed==0.19.8"),
    ),
}
"""Name of a case -> trainer, dataset, and packages of a machine whose Python has none of them."""


@pytest.fixture(scope="session")
def libraries() -> dict[str, str] | None:
    """Variables of this Python, where it has torch; None where the jobs install it."""
    if importlib.util.find_spec("torch") is None:
        return None
    return {"PYTHONPATH": os.environ.get("PYTHONPATH", "")}


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory, libraries: dict[str, str] | None) -> Path:
    """A tiny model and its datasets."""
    folder = tmp_path_factory.mktemp("source")
    command = [sys.executable, str(TRAINING / "tiny_llama.py"), str(folder), WIDTH]
    own = python.variables("trainers", "torch") if libraries is None else libraries
    subprocess.run(command, check=True, env={**os.environ, **own})
    return folder


@pytest.mark.parametrize("name", TRAINERS)
def test_trains_on_a_gpu(
    stack: Stack, source: Path, libraries: dict[str, str] | None, name: str
) -> None:
    trainer, dataset, packages = TRAINERS[name]
    place: dict[str, Any] = {
        "dataset": dataset,
        "env": libraries or {},
        "packages": list(packages) if libraries is None else [],
        "source": source.as_uri(),
    }
    (stack.folder / "place.json").write_text(json.dumps(place))
    stack.program(PROGRAM.format(training=str(TRAINING), trainer=trainer))
    stack.run("config", "set", "trainer:target", "local")
    stack.up()
    found = stack.outputs()
    assert found["status"] == "Complete"
    if dataset:
        assert any(Path(found["model"]).iterdir())
    else:
        assert found["metrics"]["loss"] < 1
        assert found["metrics"]["memory"] > 0
