"""TorchTune: recipes, configs and what it cannot run; reference behaviour 3.3."""

from typing import Any

import pytest

from tests.render.runtimes import replicated, runtime, train_job
from trainer_infra.render import pipeline, torchtune
from trainer_infra.render.behaviour import OURS, REFERENCE, Behaviour

RDZV = "--rdzv_endpoint=tj-node-0-0.tj:29500"
LORA = "model.lora_attn_modules=[q_proj]"
QLORA = "model.quantize_base=True"
SMALL, LARGE = "torchtune-llama3.2-1b", "torchtune-llama3.3-70b"
COMMAND = [
    "tune",
    "run",
    "full",
    "--config",
    "c",
    "dataset=d",
    "output_dir=/o",
    "tokenizer.path=/t",
]
DATA = ["dataset=d", "dataset.source=parquet", "dataset.data_dir=/workspace/dataset/data"]


def tune(name: str = SMALL, nodes: int = 1) -> Any:
    containers = [{"name": "node", "image": "i", "command": COMMAND}]
    job = replicated("node", "trainer", containers=containers)
    return runtime(job, name=name, mlPolicy={"numNodes": nodes, "torch": {}})


def command(on: Any, *, behaviour: Behaviour = OURS, **trainer: Any) -> list[str]:
    trainer = {"command": ["tune", "run"], **trainer}
    job = train_job(on.metadata.name, trainer=trainer)
    (jobset,) = pipeline.render(job, on, behaviour)
    pod = jobset["spec"]["replicatedJobs"][0]["template"]["spec"]["template"]
    found: list[str] = pod["spec"]["containers"][0]["command"]
    return found


def refusal(on: Any, *, behaviour: Behaviour = OURS, **trainer: Any) -> list[tuple[str, str]]:
    trainer = {"command": ["tune", "run"], **trainer}
    job = train_job(on.metadata.name, trainer=trainer)
    found = pipeline.rendering_problems(job, on, behaviour=behaviour)
    return [(each.path.removeprefix("spec."), each.what) for each in found]


def gpu(count: int) -> dict[str, Any]:
    return {"limits": {"nvidia.com/gpu": count}}


@pytest.mark.parametrize(
    ("trainer", "flags", "recipe", "suffix"),
    [
        ({}, [], "full_finetune_single_device", "_full_single_device"),
        ({"numProcPerNode": 1}, [], "full_finetune_single_device", "_full_single_device"),
        (
            {"numProcPerNode": 1, "args": [LORA]},
            [],
            "lora_finetune_single_device",
            "_lora_single_device",
        ),
        (
            {"resourcesPerNode": gpu(1), "args": [LORA, QLORA]},
            [],
            "lora_finetune_single_device",
            "_qlora_single_device",
        ),
        ({"numProcPerNode": 2}, [RDZV], "full_finetune_distributed", "_full"),
        ({"resourcesPerNode": gpu(2)}, [RDZV], "full_finetune_distributed", "_full"),
        (
            {"resourcesPerNode": gpu(2), "args": [LORA]},
            [RDZV],
            "lora_finetune_distributed",
            "_lora",
        ),
        (
            {"resourcesPerNode": gpu(2), "args": [LORA, QLORA, "model.use_dora=true"]},
            [RDZV],
            "lora_finetune_distributed",
            "_lora",
        ),
        (
            {"resourcesPerNode": gpu(2), "args": ["model.quantize_base=false"]},
            [RDZV],
            "full_finetune_distributed",
            "_full",
        ),
        (
            {"resourcesPerNode": gpu(1), "numProcPerNode": 2},
            [RDZV],
            "full_finetune_single_device",
            "_full_single_device",
        ),
        ({"numNodes": 2}, [RDZV], "full_finetune_distributed", "_full_multinode"),
        ({"numNodes": 0}, [], "full_finetune_distributed", "_full"),
    ],
)
def test_recipe_and_config_follow_nodes_devices_and_arguments(
    trainer: dict[str, Any], flags: list[str], recipe: str, suffix: str
) -> None:
    config = f"llama3_3/70B{suffix}"
    kept = ["dataset=d", "output_dir=/o", "tokenizer.path=/t"]
    expected = ["tune", "run", *flags, recipe, "--config", config, *kept]
    assert command(tune(LARGE), **trainer) == expected


def test_qlora_without_a_single_device_is_a_distributed_recipe() -> None:
    found = command(tune(LARGE), resourcesPerNode=gpu(2), args=["model.quantize_base= TRUE "])
    assert found[2:6] == [RDZV, "lora_finetune_distributed", "--config", "llama3_3/70B_qlora"]


@pytest.mark.parametrize(
    ("name", "model"),
    [
        ("torchtune-llama3.2-3b", "llama3_2/3B"),
        ("torchtune-qwen2.5-1.5b", "qwen2_5/1.5B"),
        ("a-b-c-d", ""),
        ("torchtune", ""),
    ],
)
def test_the_model_is_read_from_the_runtimes_name(name: str, model: str) -> None:
    assert torchtune.model_of_runtime(name) == model


def test_another_command_is_left_alone() -> None:
    assert command(tune(), command=["tune", "run", "x"]) == ["tune", "run", "x"]


def test_only_known_models_are_tuned() -> None:
    what = "must have a supported pretrained model, invalid model configured: {}"
    assert refusal(tune("torchtune-gemma2-2b")) == [("runtimeRef.name", what.format("gemma2/2B"))]
    assert refusal(tune("mine")) == [("runtimeRef.name", what.format(""))]


def test_only_the_large_model_runs_on_several_nodes() -> None:
    assert refusal(tune(LARGE), numNodes=2) == []
    assert refusal(tune(), numNodes=2) == [("trainer.numNodes", "must be 1 for llama3_2/1B model")]


def test_torchtune_counts_numnodes_of_the_runtime_too() -> None:
    on = tune(nodes=2)
    assert refusal(on) == [("trainer.numNodes", "must be 1 for llama3_2/1B model")]
    assert refusal(on, numNodes=1) == []
    assert refusal(on, behaviour=REFERENCE) == []


def test_lora_needs_a_single_node() -> None:
    what = "LoRA fine-tuning is not supported for multi-node training in TorchTune"
    assert refusal(tune(LARGE), numNodes=2, args=[LORA]) == [("trainer.numNodes", what)]
    assert refusal(tune(LARGE), numNodes=2, args=[QLORA]) == [("trainer.numNodes", what)]


def test_qlora_needs_a_single_device_for_the_small_models() -> None:
    assert refusal(tune(), resourcesPerNode=gpu(2), args=[QLORA]) == [
        ("trainer.numProcPerNode", "must be auto or 1 for llama3_2/1B model when using QLoRA"),
        (
            "trainer.resourcesPerNode",
            "must have gpu resource with value 1 for llama3_2/1B model when using QLoRA",
        ),
    ]
    assert refusal(tune(), resourcesPerNode=gpu(1), args=[QLORA]) == []


def test_qlora_is_not_for_qwen() -> None:
    on = tune("torchtune-qwen2.5-1.5b")
    assert refusal(on, resourcesPerNode=gpu(1), args=[QLORA]) == [
        ("runtimeRef.name", "QLoRA is not supported for qwen2_5/1.5B model")
    ]


def test_what_the_runtime_manages_is_not_set_in_arguments() -> None:
    what = 'must not set immutable config "{}" in trainer args; it is managed by the runtime'
    args = ["epochs=1", "output_dir=/x", "tokenizer.merges_file", "checkpointer.checkpoint_dir=/y"]
    refused = [
        ("trainer.args[1]", what.format("output_dir")),
        ("trainer.args[2]", what.format("tokenizer.merges_file")),
        ("trainer.args[3]", what.format("checkpointer.checkpoint_dir")),
    ]
    assert refusal(tune(), behaviour=REFERENCE, args=args) == refused
    assert refusal(tune(), args=args) == refused[1:]


@pytest.mark.parametrize(
    ("args", "kept"),
    [
        ([], [*DATA, "output_dir=/o", "epochs=7"]),
        (["epochs=1"], [*DATA, "output_dir=/o"]),
        (["output_dir=/kept"], [*DATA, "epochs=7"]),
        (["dataset.packed=True"], [*DATA, "output_dir=/o", "epochs=7"]),
        (["dataset=own"], [*DATA[1:], "output_dir=/o", "epochs=7"]),
        (["dataset._component_=own"], [*DATA[1:], "output_dir=/o", "epochs=7"]),
        (["dataset.source=json"], [*DATA[:1], "output_dir=/o", "epochs=7"]),
        (["dataset.data_files=/a.json"], [*DATA[:1], "output_dir=/o", "epochs=7"]),
    ],
)
def test_torchtune_keeps_what_the_runtime_says_and_the_train_job_does_not(
    args: list[str], kept: list[str]
) -> None:
    own = [
        "tune",
        "run",
        "--nproc_per_node=2",
        "full",
        "--config",
        "c",
        *DATA,
        "output_dir=/o",
        "epochs=7",
    ]
    containers = [{"name": "node", "image": "i", "command": own}]
    on = runtime(
        replicated("node", "trainer", containers=containers),
        name=SMALL,
        mlPolicy={"numNodes": 1, "torch": {}},
    )
    made = command(on, args=args)
    assert made[made.index("--config") + 2 :] == kept
    assert command(on, behaviour=REFERENCE)[-1] == "output_dir=/o"
