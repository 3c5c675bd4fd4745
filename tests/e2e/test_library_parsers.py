"""What typed trainers write is what the libraries' own parsers take, and their records are what these say."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from from_source.cluster import python
from tools import option_records
from trainer_infra.trainers.libraries import option_schema, parser_record
from trainer_infra.trainers.libraries.torchtune import RECIPES, TorchTune
from trainer_infra.trainers.libraries.trl import METHODS, Trl
from trainer_infra.trainers.trainer import PackedTrainer

TRAINING = Path(__file__).parent / "training"
SHARED: dict[str, Any] = {
    "learning_rate": 2e-4,
    "max_steps": 10,
    "num_train_epochs": 2,
    "per_device_train_batch_size": 2,
    "gradient_accumulation_steps": 4,
    "lr_scheduler_type": "cosine",
    "lr_scheduler_kwargs": {"num_cycles": 2},
    "warmup_steps": 5,
    "weight_decay": 0.01,
    "max_grad_norm": 0.5,
    "adam_beta2": 0.95,
    "optim": "adamw_torch",
    "bf16": False,
    "use_cpu": True,
    "seed": 7,
    "data_seed": 8,
    "logging_steps": 5,
    "logging_first_step": True,
    "save_strategy": "steps",
    "save_steps": 50,
    "save_total_limit": 2,
    "eval_strategy": "no",
    "dataloader_num_workers": 1,
    "dataloader_drop_last": True,
    "dataloader_pin_memory": False,
    "report_to": "none",
    "run_name": "a run = b",
    "ddp_timeout": 60,
    "torch_compile": False,
    "label_names": ["labels"],
    "dataset_config": "default",
    "dataset_train_split": "train[:10%]",
    "dtype": "float32",
    "model_revision": "main",
    "trust_remote_code": False,
}
"""Options that every method of TRL has."""
OWN: dict[str, dict[str, Any]] = {
    "sft": {"packing": False, "max_length": 512, "completion_only_loss": True, "loss_type": "nll"},
    "dpo": {"beta": 0.2, "max_length": 512, "label_smoothing": 0.1},
    "kto": {"beta": 0.2, "desirable_weight": 1.5},
    "grpo": {
        "num_generations": 4,
        "max_completion_length": 64,
        "temperature": 0.7,
        "epsilon": 0.1,
        "reward_weights": [-1e-5, 1.0],
    },
    "rloo": {"num_generations": 4, "beta": 0.1},
    "reward": {"max_length": 512, "center_rewards_coefficient": 0.01},
    "distillation": {"temperature": 0.8, "max_completion_length": 64},
}
"""Options that one of them has."""
ITEMS: dict[str, Any] = {
    # Those of some configurations are of a package for GPUs.
    "optimizer": "torch.optim.AdamW",
    "optimizer.lr": 1e-5,
    "optimizer.weight_decay": 0.1,
    "seed": 7,
    "shuffle": False,
    "epochs": 2,
    "max_steps_per_epoch": 3,
    "gradient_accumulation_steps": 2,
    "device": "cpu",
    "log_every_n_steps": 2,
    "metric_logger.log_dir": "/tmp/logs",
    "tokenizer.max_seq_len": 128,
    "checkpointer.checkpoint_dir": "/workspace/model",
}
"""Items that recipes of torchtune have."""


def case(packed: PackedTrainer) -> dict[str, Any]:
    assert packed.code is not None
    program = json.loads(packed.code.files["launch.json"])["program"]
    return {"program": program, "args": packed.trainer["args"]}


def parse(cases: list[dict[str, Any]], env: dict[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, str(TRAINING / "parse_options.py")],
        env={**os.environ, **env},
        input=json.dumps(cases),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == len(cases)


def test_trl_takes_what_is_written_for_it() -> None:
    lora: Any = {
        "r": 8,
        "lora_alpha": 16,
        "lora_dropout": 0.1,
        "target_modules": ["q_proj", "v_proj"],
        "use_dora": True,
    }
    trainers = [
        Trl(method, model="org/model", dataset="rows", output="out", lora=lora, options=own)  # type: ignore[arg-type]  # of METHODS
        for method in METHODS
        for own in [{**SHARED, **OWN[method]}]
    ]
    parse([case(each.pack()) for each in trainers], python.variables("trainers", "torch"))
    assert len({*SHARED, *(name for own in OWN.values() for name in own)}) >= 45


def test_torchtune_takes_what_is_written_for_it() -> None:
    cases = []
    for recipe in RECIPES:
        known = option_schema.recorded(f"torchtune-{recipe}")
        # PPO counts steps in its own way.
        items = {name: each for name, each in ITEMS.items() if name in known.options}
        assert len(items) >= len(ITEMS) - 2
        for config in known.options["config"].choices:
            trainer = TorchTune(recipe, str(config), batch_size=1, options=items)  # type: ignore[arg-type]  # of RECIPES
            cases.append(case(trainer.pack()))
    assert len(cases) >= 30
    parse(cases, python.variables("torchtune", "trainers", "torch"))


@pytest.mark.parametrize(
    ("name", "environments"),
    [
        ("trl-sft", ("trainers", "torch")),
        ("hugging-face", ("trainers", "torch")),
        ("deepspeed", ("trainers", "torch")),
        ("torchtune-lora_finetune_distributed", ("torchtune", "trainers", "torch")),
        ("xgboost", ("xgboost",)),
    ],
)
def test_a_record_is_what_the_installed_library_says(
    name: str, environments: tuple[str, ...]
) -> None:
    command = [sys.executable, parser_record.__file__, name]
    done = subprocess.run(
        command,
        env={**os.environ, **python.variables(*environments)},
        capture_output=True,
        text=True,
        check=True,
    )
    said = json.loads(done.stdout.splitlines()[-1])
    assert option_records.text_of(said) == (option_records.FOLDER / f"{name}.json").read_text()


@pytest.mark.soak
@pytest.mark.parametrize("name", option_records.names())
def test_every_record_is_what_its_library_says(name: str) -> None:
    said = option_records.record(name)
    assert option_records.text_of(said) == (option_records.FOLDER / f"{name}.json").read_text()
