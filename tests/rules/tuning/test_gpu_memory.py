"""The least memory that each method needs, to the GPU."""

from typing import Any

import pytest

from trainer_infra.rules import tree, world
from trainer_infra.rules.judge import ConfiguredRule, judge
from trainer_infra.rules.pool import Pool
from trainer_infra.rules.tuning import gpu_memory

FULL = ("full_finetune_distributed", "llama3_3/70B_full_multinode")
LORA = ("lora_finetune_distributed", "llama3_3/70B_lora")
QLORA = ("lora_finetune_distributed", "llama3_3/70B_qlora")
ALONE = ("full_finetune_single_device", "llama3_2/3B_full_single_device")


def fits(recipe: tuple[str, str], gpus: int, accelerator: str, *items: str) -> bool:
    name, config = recipe
    node = {
        "name": "node",
        "command": ["tune", "run", "--nproc_per_node", "8", name, "--config", config],
        "args": list(items),
        "resources": {"limits": {"nvidia.com/gpu": gpus}},
    }
    job: dict[str, Any] = {"template": {"spec": {"containers": [node]}}}
    value = {
        "kind": "JobSet",
        "spec": {"replicatedJobs": [{"name": "node", "template": {"spec": job}}]},
    }
    pool = Pool(name="gpus", capacity={"nvidia.com/gpu": 64}, nodes=1, accelerator=accelerator)
    (subject,) = tree.subjects_of([value])
    rules = [ConfiguredRule.default(gpu_memory.RULE)]
    return not list(judge(subject, world.world_of([subject], [pool]), rules))


@pytest.mark.parametrize(
    ("recipe", "gpus", "items"),
    [
        # 70.55e9 parameters x 2 bytes are 131.4 GiB; one GPU has 80 GiB.
        pytest.param(FULL, 7, (), id="weights, gradients and two states: 525.7 GiB"),
        pytest.param(FULL, 14, ("dtype=fp32",), id="4 bytes each"),
        pytest.param(FULL, 5, ("optimizer_in_bwd=True",), id="no gradients"),
        pytest.param(FULL, 4, ("optimizer._component_=torch.optim.SGD",), id="states not known"),
        pytest.param(LORA, 2, (), id="LoRA: weights alone"),
        pytest.param(QLORA, 1, (), id="QLoRA: 32.9 GiB"),
        pytest.param(LORA, 1, ("model.quantize_base=True",), id="QLoRA by an item"),
    ],
)
def test_the_fewest_gpus_of_80_gib(
    recipe: tuple[str, str], gpus: int, items: tuple[str, ...]
) -> None:
    assert fits(recipe, gpus, "nvidia-h100-80gb", *items)
    assert gpus == 1 or not fits(recipe, gpus - 1, "nvidia-h100-80gb", *items)


def test_a_single_device_holds_all_weights_whatever_else_there_is() -> None:
    assert fits(ALONE, 1, "nvidia-t4")
    assert not fits((ALONE[0], LORA[1]), 64, "nvidia-h100-80gb")


@pytest.mark.parametrize(
    ("recipe", "accelerator", "items"),
    [
        pytest.param((FULL[0], "llama9/9000B_full"), "nvidia-t4", (), id="a model"),
        pytest.param(FULL, "tpu-v9", (), id="an accelerator"),
        pytest.param((FULL[0], "llama3_3/70B_full"), "nvidia-t4", (), id="the machine's memory"),
        pytest.param(FULL, "nvidia-t4", ("fsdp_cpu_offload=True",), id="the same by an item"),
    ],
)
def test_what_is_not_known_is_not_judged(
    recipe: tuple[str, str], accelerator: str, items: tuple[str, ...]
) -> None:
    assert fits(recipe, 1, accelerator, *items)
