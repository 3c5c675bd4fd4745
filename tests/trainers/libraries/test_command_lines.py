"""What trainers of libraries become: arguments of spec.trainer, and what the launcher runs."""

import json
from enum import Enum
from pathlib import Path
from typing import Any

import pytest
import yaml

from trainer_infra.api.input import UNKNOWN
from trainer_infra.api.secret import Secret
from trainer_infra.errors import InvalidInput
from trainer_infra.trainers.container_trainer import ContainerTrainer
from trainer_infra.trainers.libraries import option_schema
from trainer_infra.trainers.libraries.fine_tuning import LoraArgs
from trainer_infra.trainers.libraries.llama_factory import LlamaFactory
from trainer_infra.trainers.libraries.torchtune import RECIPES, Recipe, TorchTune
from trainer_infra.trainers.libraries.trl import METHODS, Method, Trl
from trainer_infra.trainers.libraries.unsloth import Unsloth
from trainer_infra.trainers.trainer import PackableTrainer, PackedTrainer


class Word(str, Enum):  # noqa: UP042  a StrEnum is written as its value already
    COSINE = "cosine"
    LLAMA = "llama3"


LORA: LoraArgs = {"r": 8, "lora_alpha": 16, "target_modules": ["q_proj", "v_proj"]}


def launched(packed: PackedTrainer) -> dict[str, Any]:
    assert packed.code is not None
    launch: dict[str, Any] = json.loads(packed.code.files["launch.json"])
    return launch


def test_trl_is_its_own_program_on_every_node() -> None:
    options = {"learning_rate": 2e-4, "bf16": False, "data_seed": None, "report_to": "none"}
    packed = Trl("sft", lora=LORA, options=options, num_nodes=2, packages=["trl==1.16.0"]).pack()
    assert packed.trainer == {
        "args": [
            "--model_name_or_path=/workspace/model",
            "--dataset_name=/workspace/dataset",
            "--output_dir=output://model",
            "--use_peft=true",
            "--lora_r=8",
            "--lora_alpha=16",
            "--lora_target_modules",
            "q_proj",
            "v_proj",
            "--learning_rate=0.0002",
            "--bf16=false",
            "--report_to=none",
        ],
        "numNodes": 2,
    }
    adapter = {"adapter": "output://model", "merge": False}
    assert launched(packed) == {"program": "trl.scripts.sft", "reports": True, **adapter}
    assert packed.code.packages == ("trl==1.16.0",)


@pytest.mark.parametrize("output", ["output://model", "/data/out/"])
def test_a_merged_model_has_its_adapter_below_it(output: str) -> None:
    for trainer in (
        Trl("sft", lora=LORA, merge=True, output=output),
        LlamaFactory("sft", template="x", dataset="d", lora=LORA, merge=True, output=output),
    ):
        packed = trainer.pack()
        written = f"{output.rstrip('/')}/adapter"
        assert f"--output_dir={written}" in packed.trainer["args"]
        launch = launched(packed)
        assert (launch["adapter"], launch["merge"]) == (written, True)


def test_a_whole_model_has_no_adapter_to_merge() -> None:
    assert "adapter" not in launched(Trl("sft").pack())
    with pytest.raises(InvalidInput, match="merge: needs an adapter, and lora is not given"):
        Trl("sft", merge=True).pack()
    with pytest.raises(InvalidInput, match="merge: must be True or False"):
        Trl("sft", lora=LORA, merge="yes").pack()  # type: ignore[arg-type]  # what is refused


def test_a_mixture_of_datasets_needs_no_dataset() -> None:
    args = Trl("sft", dataset=None, options={"datasets": ["a/b", "c/d"]}).pack().trainer["args"]
    assert args[-3:] == ["--datasets", "a/b", "c/d"]
    assert not any(each.startswith("--dataset_name") for each in args)


@pytest.mark.parametrize("method", METHODS)
def test_each_method_of_trl_has_a_record(method: Method) -> None:
    packed = Trl(method, options={"max_steps": 3}).pack()
    assert packed.trainer["args"][-1] == "--max_steps=3"
    assert launched(packed) == {"program": f"trl.scripts.{method}", "reports": True}


def test_a_mapping_travels_as_json_and_dollars_as_they_are() -> None:
    options = {"lr_scheduler_kwargs": {"num_cycles": 2}, "run_name": "$(HOME)"}
    packed = Trl("dpo", options=options).pack()
    assert packed.trainer["args"][-2:] == [
        '--lr_scheduler_kwargs={"num_cycles": 2}',
        "--run_name=$$(HOME)",
    ]


def test_secrets_of_the_environment_leave_a_reference() -> None:
    packed = Trl("sft", env={"HF_TOKEN": Secret("hf_1"), "HF_HOME": "/tmp/hf"}).pack()
    reference = {"name": "trainer-infra-own-secret", "key": "env.HF_TOKEN"}
    assert packed.trainer["env"] == [
        {"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": reference}},
        {"name": "HF_HOME", "value": "/tmp/hf"},
    ]
    assert packed.secret_data == {"env.HF_TOKEN": "hf_1"}


def test_torchtune_on_its_runtimes_is_the_command_that_they_complete() -> None:
    options = {"dataset": "torchtune.datasets.instruct_dataset", "dataset.source": "parquet"}
    trainer = TorchTune(dtype="bf16", epochs=2, lora={"r": 4, "quantize": "4bit"}, options=options)
    packed = trainer.pack()
    assert packed == PackedTrainer(
        None,
        {
            "command": ["tune", "run"],
            "args": [
                "dtype=bf16",
                "epochs=2",
                "output_dir=output://model",
                "model.lora_rank=4",
                "model.lora_attn_modules=[q_proj,v_proj,output_proj]",
                "model.quantize_base=true",
                "dataset=torchtune.datasets.instruct_dataset",
                "dataset.source=parquet",
            ],
        },
        {},
    )


def test_a_recipe_of_torchtune_runs_on_any_torch_runtime() -> None:
    name: Recipe = "knowledge_distillation_distributed"
    config = "llama3_2/8B_to_1B_KD_lora_distributed"
    packed = TorchTune(name, config, options={"kd_ratio": 0.5}, num_proc_per_node=2).pack()
    assert packed.trainer["args"] == [
        *("run", "--nproc_per_node=2", name, "--config", config),
        *("output_dir=output://model", "kd_ratio=0.5"),
    ]
    assert launched(packed) == {"program": "torchtune._cli.tune", "reports": False}
    assert packed.code is not None
    assert packed.code.launcher == ("python",)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a b", "a b"),
        ("true", '"true"'),
        ("1e3", '"1e3"'),
        ("", '""'),
        ({"input": "x"}, '{"input": "x"}'),
        (["q_proj", "1"], '[q_proj,"1"]'),
        (True, "true"),
        (Word.COSINE, "cosine"),
        ("é😀", '"é😀"'),
        ("a\x85b\x7f\x9b\u2028\ufeff", r'"a\u0085b\u007f\u009b\u2028\ufeff"'),
    ],
)
def test_torchtune_reads_a_value_as_it_was_given(value: object, text: str) -> None:
    args = TorchTune(options={"dataset": "a.b", "dataset.column_map": value}).pack().trainer["args"]
    assert args[-1] == f"dataset.column_map={text}"
    assert yaml.safe_load(text) == value


def test_llama_factory_runs_under_torchrun() -> None:
    packed = LlamaFactory("sft", template="llama3", dataset="mine", lora=LORA).pack()
    assert packed.trainer["args"] == [
        "--stage=sft",
        "--do_train=true",
        "--model_name_or_path=/workspace/model",
        "--template=llama3",
        "--dataset=mine",
        "--dataset_dir=/workspace/dataset",
        "--output_dir=output://model",
        "--finetuning_type=lora",
        "--lora_rank=8",
        "--lora_alpha=16",
        "--lora_target=q_proj,v_proj",
    ]
    adapter = {"adapter": "output://model", "merge": False}
    assert launched(packed) == {"program": "llamafactory.launcher", "reports": True, **adapter}


def test_llama_factory_trains_what_is_neither_adapters_nor_the_whole_model() -> None:
    options = {"finetuning_type": "freeze", "freeze_trainable_layers": 2}
    packed = LlamaFactory("sft", template="llama3", dataset="mine", options=options).pack()
    assert packed.trainer["args"][-2:] == [
        "--finetuning_type=freeze",
        "--freeze_trainable_layers=2",
    ]
    assert "--finetuning_type=full" not in packed.trainer["args"]


def test_llama_factory_takes_all_layers_by_one_word() -> None:
    lora: LoraArgs = {"target_modules": "all"}
    packed = LlamaFactory("sft", template="llama3", dataset="mine", lora=lora).pack()
    assert packed.trainer["args"][-1] == "--lora_target=all"


def test_a_member_of_an_enumeration_is_what_it_holds() -> None:
    options = {"lr_scheduler_type": Word.COSINE}
    packed = LlamaFactory("sft", template=Word.LLAMA, dataset="mine", options=options).pack()
    assert "--template=llama3" in packed.trainer["args"]
    assert packed.trainer["args"][-1] == "--lr_scheduler_type=cosine"


def test_a_small_negative_number_is_no_option_to_argparse() -> None:
    packed = Trl("grpo", options={"reward_weights": [-1e-5, 1.0]}).pack()
    assert packed.trainer["args"][-3:] == ["--reward_weights", "-0.00001", "1.0"]


@pytest.mark.parametrize("counts", [{"num_nodes": 1}, {"num_nodes": UNKNOWN}], ids=str)
def test_torchtune_trains_in_one_process_on_one_node(counts: Any) -> None:
    trainer = TorchTune("lora_finetune_single_device", "llama3_2/1B_lora_single_device", **counts)
    assert "--nproc_per_node" not in str(trainer.pack().trainer["args"])


def test_unsloth_runs_in_one_process() -> None:
    options = {"packing": False, "local_dataset": ["a.json", "b.json"]}
    packed = Unsloth(lora={"r": 8, "quantize": "4bit"}, options=options).pack()
    assert packed.trainer["args"] == [
        "train",
        "--model=/workspace/model",
        "--dataset=/workspace/dataset",
        "--output-dir=output://model",
        "--training-type=lora",
        "--lora-r=8",
        "--load-in-4bit",
        "--no-packing",
        "--local-dataset=a.json",
        "--local-dataset=b.json",
    ]
    assert packed.code.launcher == ("python",)


def test_a_container_brings_its_own_command() -> None:
    trainer = ContainerTrainer("trainer:1", ["train", "$(HOME)"], args=["--fast"], num_nodes=2)
    assert trainer.pack() == PackedTrainer(
        None,
        {
            "command": ["train", "$$(HOME)"],
            "image": "trainer:1",
            "args": ["--fast"],
            "numNodes": 2,
        },
        {},
    )
    assert ContainerTrainer().pack() == PackedTrainer(None, {}, {})


@pytest.mark.parametrize(
    "trainer",
    [
        Trl("sft"),
        TorchTune(),
        LlamaFactory("sft", template="qwen", dataset="a"),
        Unsloth(),
        ContainerTrainer(),
    ],
    ids=lambda trainer: type(trainer).__name__,
)
def test_each_is_a_trainer(trainer: PackableTrainer) -> None:
    assert isinstance(trainer, PackableTrainer)


def test_the_recipes_are_those_that_have_records() -> None:
    folder = Path(option_schema.__file__).with_name("recorded")
    recorded = {each.stem for each in folder.glob("t*.json")}
    assert recorded == {f"torchtune-{each}" for each in RECIPES} | {
        f"trl-{each}" for each in METHODS
    }
