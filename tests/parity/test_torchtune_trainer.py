"""A TorchTune of ours on a torchtune runtime becomes what the reference makes of it: recipe, configuration, objects."""

import itertools
import re
from typing import Any, Final

import pytest

from tests.parity import comparison, defaults, reference
from tests.parity.reference import Case
from trainer_infra.catalog import torchtune
from trainer_infra.catalog.shipped_runtime import ShippedRuntime
from trainer_infra.trainers.libraries.fine_tuning import LoraArgs
from trainer_infra.trainers.libraries.torchtune import OF_RUNTIMES, TorchTune

pytestmark = pytest.mark.verify

RUNTIMES: Final = (
    torchtune.LLAMA_3_2_1B,
    torchtune.LLAMA_3_2_3B,
    torchtune.QWEN_2_5_1_5B,
    torchtune.LLAMA_3_3_70B,
)
TUNED: Final[tuple[LoraArgs | None, ...]] = (
    None,
    {"r": 8, "lora_alpha": 16, "lora_dropout": 0.1},
    {"r": 8, "target_modules": ["q_proj", "k_proj"], "quantize": "4bit"},
    {"r": 8, "use_dora": True},
    {"r": 8, "use_dora": True, "quantize": "4bit"},
)
"""The whole model, LoRA, QLoRA, DoRA and QDoRA."""
NODES: Final = (None, 1, 2)
PROCESSES: Final = (None, 1, 2)
GPUS: Final = (None, 1, 2)
OPTIONS: Final[dict[str, Any]] = {
    "dataset": "torchtune.datasets.instruct_dataset",
    "dataset.source": "parquet",
    "dataset.train_on_input": True,
    "dataset.new_system_prompt": "Answer in one line: $(HOME) or $HOME.",
    "dataset.column_map": {"input": "question", "output": "answer"},
    "optimizer.lr": 2e-5,
    "gradient_accumulation_steps": 4,
    "max_steps_per_epoch": 10,
    "seed": 7,
    "compile": True,
}


def case(runtime: ShippedRuntime, trainer: TorchTune) -> Case:
    packed = trainer.pack()
    assert packed.code is None
    # The reference refuses an output_dir, which is left out for it: trainers/kept_outputs.py.
    args = [each for each in packed.trainer["args"] if not each.startswith("output_dir=")]
    job = {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": {"name": "tuned", "namespace": "ns", "uid": "1"},
        "spec": {
            "runtimeRef": {"name": runtime.name, "kind": "ClusterTrainingRuntime"},
            "trainer": {**packed.trainer, "args": args},
        },
    }
    made = runtime.runtime().to_wire()
    return Case(defaults.applied(job), defaults.applied(made))


def trainers() -> list[TorchTune]:
    return [
        TorchTune(
            dtype="bf16",
            batch_size=4,
            epochs=2,
            loss="torchtune.modules.loss.LinearCrossEntropyLoss",
            lora=lora,
            options=OPTIONS,
            num_nodes=nodes,
            num_proc_per_node=processes,
            resources_per_node={"gpu": gpus} if gpus else None,
        )
        for lora, nodes, processes, gpus in itertools.product(TUNED, NODES, PROCESSES, GPUS)
    ]


@pytest.mark.parametrize("runtime", RUNTIMES, ids=lambda runtime: runtime.name)
def test_the_reference_makes_the_same_of_it(runtime: ShippedRuntime) -> None:
    found = comparison.disagreements([case(runtime, each) for each in trainers()])
    assert not found, "\n".join([*found.values()][:3])


def test_the_cases_have_every_recipe_and_configuration_of_the_runtimes() -> None:
    cases = [case(runtime, each) for runtime in RUNTIMES for each in trainers()]
    made = [first for first, *_ in reference.run(cases)]
    said = " ".join(str(each.objects) for each in made if not each.errors)
    recipes = {*re.findall(r"\w+_finetune_\w+", said)}
    configurations = {*re.findall(r"'--config', '(\S+)'", said)}
    assert recipes == {*OF_RUNTIMES}
    assert configurations == {
        *(
            f"{model}_{method}{devices}"
            for model in ("llama3_2/1B", "llama3_2/3B", "qwen2_5/1.5B", "llama3_3/70B")
            for method in ("full", "lora")
            for devices in ("", "_single_device")
        ),
        *(f"llama3_2/{size}_qlora_single_device" for size in ("1B", "3B")),
        *(f"llama3_3/70B_qlora{devices}" for devices in ("", "_single_device")),
        "llama3_3/70B_full_multinode",
    }
    assert any(each.errors for each in made)
