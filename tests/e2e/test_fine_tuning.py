"""Trainers of libraries and frameworks for real, on processors: by `pulumi up`, on this machine and on a cluster.

One program trains with all of them at once: TRL's SFT and DPO with LoRA on two nodes, FSDP2 and DeepSpeed on two
processes, a LoRA recipe of torchtune. Initializers fetch a tiny model and its data, made on the spot.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from from_source.cluster import initializer_image, package_image, python
from tests.deploy.project import Stack
from tests.e2e import runtimes
from tests.e2e.cluster import Namespace
from tests.e2e.fine_tuning import TRAINING, VOLUME, script

PROGRAM = """
import json, pathlib
from trainer_infra import DeepSpeed, Fsdp2, TorchTune, Trl
place = json.loads(pathlib.Path("place.json").read_text())
TRAINING = {training!r}
LITTLE = {{"requests": {{"cpu": "50m", "memory": "64Mi"}}}}
ON_CPU = {{"use_cpu": True, "bf16": False, "report_to": "none", "max_steps": 6, "learning_rate": 0.01,
          "per_device_train_batch_size": 2, "gradient_checkpointing": False, "logging_steps": 2}}
LORA = {{"r": 4, "target_modules": ["q_proj", "v_proj"]}}
TINY = {{"model._component_": "torchtune.models.llama3_2.lora_llama3_2", "model.vocab_size": 128256,
        "model.num_layers": 2, "model.num_heads": 4, "model.num_kv_heads": 2, "model.embed_dim": 32,
        "model.max_seq_len": 128, "model.intermediate_dim": 64, "device": "cpu", "max_steps_per_epoch": 2,
        "dataset": "torchtune.datasets.instruct_dataset", "dataset.source": "json", "dataset.split": "train",
        "dataset.data_files": "/workspace/dataset/train.jsonl",
        "dataset.column_map": {{"input": "instruction", "output": "output"}}}}

def run(name, trainer, dataset=None, runtime="torch-distributed-with-initializers", **more):
    fetch = {{"dataset": {{"storageUri": f"{{place['source']}}/{{dataset}}"}},
             "model": {{"storageUri": f"{{place['source']}}/model"}}}}
    return TrainJob(name, runtime=place["runtimes"][runtime], namespace=place["ns"], trainer=trainer,
                    initializer=fetch if dataset else None, wait_for="complete", **more)

two = dict(num_nodes=2, num_proc_per_node=1, resources_per_node=LITTLE, env=place["env"])
sft = run("sft", Trl("sft", lora=LORA, options=ON_CPU, **two), "sft", outputs=place["outputs"])
dpo = run("dpo", Trl("dpo", lora=LORA, options=ON_CPU, **two), "preferences", outputs=place["outputs"])
one = dict(resources_per_node=LITTLE, env=place["env"])
sharded = run("sharded", Fsdp2(f"{{TRAINING}}:train_fsdp2:train", num_proc_per_node=2, **one))
zero = run("zero", DeepSpeed(f"{{TRAINING}}:train_deepspeed:train", num_proc_per_node=2, zero=2, config={{
    "train_micro_batch_size_per_gpu": 8, "optimizer": {{"type": "Adam", "params": {{"lr": 0.01, "torch_adam": True}}}},
}}, **one))
tuned = run("tuned", TorchTune(lora={{"r": 4}}, dtype="fp32", epochs=1, batch_size=1, num_proc_per_node=1,
                               options=TINY, resources_per_node=LITTLE, env=place["torchtune"]),
            "alpaca", "torchtune-llama3.2-1b", outputs=place["outputs"])
for name, job in {{"sft": sft, "dpo": dpo}}.items():
    pulumi.export(name, job.outputs["model"])
    pulumi.export(f"{{name}}-loss", job.metrics["train_loss"])
pulumi.export("sharded", sharded.metrics["accuracy"])
pulumi.export("zero", zero.metrics["accuracy"])
pulumi.export("tuned", tuned.status)
pulumi.export("tuned-model", tuned.outputs["model"])
"""
NAMES = ("torch-distributed-with-initializers", "torchtune-llama3.2-1b")


def test_on_this_machine(stack: Stack, source: Path, libraries: dict[str, str]) -> None:
    stack.run("config", "set", "trainer:target", "local")
    place = {
        "ns": "default",
        "env": libraries,
        "torchtune": python.variables("torchtune", "trainers", "torch"),
        "source": source.as_uri(),
        "runtimes": {name: name for name in NAMES},
        "outputs": ["model"],
    }
    assert_all_train(stack, place, source / "model", libraries, Path)


def test_on_a_cluster(
    tmp_path: Path,
    cluster_stack: Stack,
    namespace: Namespace,
    image: str,
    source: Path,
    libraries: dict[str, str],
) -> None:
    models = tmp_path / "models"
    models.mkdir()
    volume = VOLUME.format(name=namespace.name, folder=models)
    namespace.kubectl("apply", "--filename", "-", given=volume)
    packages = [python.environment(each) for each in ("torchtune", "trainers", "torch")]
    fetching = package_image.loaded(initializer_image.IMAGE)
    made = {
        name: runtimes.that_fetches(name, (image, fetching), packages[skip:], source)
        for skip, name in zip((1, 0), NAMES, strict=True)
    }
    place = {
        "ns": namespace.name,
        "env": {"HF_HUB_OFFLINE": "1"},
        "torchtune": {},
        "source": f"file://{runtimes.SOURCE}",
        "runtimes": {name: each.to_wire() for name, each in made.items()},
        "outputs": {"model": "pvc://models/{run}"},
    }

    try:
        assert_all_train(
            cluster_stack,
            place,
            source / "model",
            libraries,
            lambda address: models / address.rpartition("/")[2],
        )
    finally:
        namespace.kubectl("delete", "pv", namespace.name, "--wait=false")


LLAMA_FACTORY_PACKAGES = ["llamafactory==0.9.5", "torch==2.11.0"]
"""It imports torchaudio, which is made for this torch and for none after it."""
LLAMA_FACTORY = """
import json, pathlib
from trainer_infra import LlamaFactory
place = json.loads(pathlib.Path("place.json").read_text())
job = TrainJob("factory", runtime="torch-distributed-with-initializers", wait_for="complete", outputs=["model"],
    initializer={"dataset": {"storageUri": f"{place['source']}/alpaca"}, "model": {"storageUri": f"{place['source']}/model"}},
    trainer=LlamaFactory("sft", template="default", dataset="sums", lora={"r": 4, "target_modules": ["q_proj", "v_proj"]},
        num_nodes=2, num_proc_per_node=1, packages=place["packages"], resources_per_node={"requests": {"cpu": "50m", "memory": "64Mi"}},
        options={"max_steps": 4, "learning_rate": 0.01, "per_device_train_batch_size": 2, "logging_steps": 2,
                 "cutoff_len": 64, "overwrite_cache": True, "report_to": "none"}))
pulumi.export("model", job.outputs["model"])
pulumi.export("loss", job.metrics["train_loss"])
"""


@pytest.mark.soak
def test_llama_factory_on_this_machine(
    stack: Stack, source: Path, libraries: dict[str, str]
) -> None:
    stack.run("config", "set", "trainer:target", "local")
    place = {"source": source.as_uri(), "packages": LLAMA_FACTORY_PACKAGES}
    (stack.folder / "place.json").write_text(json.dumps(place))
    stack.program(LLAMA_FACTORY)
    stack.up()
    assert float(stack.outputs()["loss"]) > 0
    assert_loads_again(source / "model", Path(stack.outputs()["model"]), libraries)


def assert_loads_again(model: Path, adapter: Path, libraries: dict[str, str]) -> None:
    """An adapter gives the same outputs when it is loaded again, and merged."""
    printed = script(libraries, "load_adapter.py", str(model), str(adapter))
    assert json.loads(printed.splitlines()[-1]) == {
        "trained": True,
        "loaded again": True,
        "merged": True,
    }


def assert_all_train(
    stack: Stack,
    place: dict[str, Any],
    model: Path,
    libraries: dict[str, str],
    kept: Callable[[str], Path],
) -> None:
    """One `up` trains with all of them; both adapters load again and give the same outputs."""
    (stack.folder / "place.json").write_text(json.dumps(place))
    stack.program(PROGRAM.format(training=str(TRAINING)))
    stack.up()
    found = stack.outputs()
    assert float(found["sharded"]) > 0.9
    assert float(found["zero"]) > 0.9
    assert found["tuned"] == "Complete"
    assert "epoch_0" in [each.name for each in kept(found["tuned-model"]).iterdir()]
    for name in ("sft", "dpo"):
        assert float(found[f"{name}-loss"]) > 0
        assert_loads_again(model, kept(found[name]), libraries)
