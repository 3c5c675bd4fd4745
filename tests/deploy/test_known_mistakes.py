"""What is wrong whatever becomes known is refused at preview, also beside a value that only `up` knows.

A bucket of the same program, or the metric of an earlier job, is not known in the first preview.
"""

from collections.abc import Callable
from typing import Any

import pulumi
import pytest

import trainer_infra
from tests.deploy.mock_engine import MockEngine, constructed, unknown
from trainer_infra import TrainJob, TrainJobs

JSON = dict[str, Any]
TORCH = "torch-distributed"

given: Any = trainer_infra
"""Without its types, which would refuse half of these before a preview does."""


def train(rate: float = 0.1) -> None:
    """A training function."""


def train_with_mesh(mesh: object, shard: object = None) -> None:
    """One that Fsdp2 and Jax prepare."""


def data() -> JSON:
    """An initializer of a bucket that is yet to be made."""
    return {"dataset": {"storageUri": unknown()}}


MISTAKES: dict[str, tuple[Callable[[], JSON], str]] = {
    "option beside an unknown initializer": (
        lambda: {"trainer": given.Trl("sft", options={"max_step": 5}), "initializer": data()},
        "options.max_step: trl sft of trl",
    ),
    "file beside an unknown label": (
        lambda: {"trainer": given.CustomTrainer("nowhere.py"), "labels": {"team": unknown()}},
        "train: there is no file or folder",
    ),
    "two fields beside an unknown initializer": (
        lambda: {
            "trainer": given.DeepSpeed(train, zero=1, offload="parameters"),
            "initializer": data(),
        },
        "offload: can offload parameters with stage 3 only",
    ),
    "name of an option beside an unknown option": (
        lambda: {"trainer": given.Trl("sft", options={"learning_rate": unknown(), "max_step": 5})},
        "options.max_step: trl sft of trl",
    ),
    "name of an unknown option": (
        lambda: {"trainer": given.Trl("sft", options={"learning_rat": unknown()})},
        "options.learning_rat: trl sft of trl",
    ),
    "name of an option beside an unknown precision": (
        lambda: {
            "trainer": given.Trl("sft", lora={"quantize": unknown()}, options={"learning_rat": 1})
        },
        "options.learning_rat: trl sft of trl",
    ),
    "name of an option beside lora that is not known": (
        lambda: {
            "trainer": given.LlamaFactory(
                "sft", template="a", dataset="b", lora=unknown(), options={"cutof": 1}
            )
        },
        "options.cutof: llamafactory-cli train of llamafactory",
    ),
    "option that the trainer sets beside an unknown one": (
        lambda: {
            "trainer": given.HuggingFaceTrainer(
                train, options={"seed": unknown(), "output_dir": "x"}
            )
        },
        "options.output_dir: is set by the trainer itself",
    ),
    "name of an item beside an unknown configuration": (
        lambda: {
            "trainer": given.TorchTune(
                "full_finetune_single_device", unknown(), options={"epoch": 1}
            )
        },
        "options.epoch: tune run full_finetune_single_device of torchtune",
    ),
    "nodes of a recipe beside an unknown one": (
        lambda: {
            "trainer": given.TorchTune(
                "full_finetune_single_device",
                "llama3_2/1B_full_single_device",
                epochs=unknown(),
                num_nodes=3,
            )
        },
        "num_nodes: must be 1: full_finetune_single_device trains in one process",
    ),
    "kind of an option beside an unknown model": (
        lambda: {"trainer": given.Trl("sft", model=unknown(), options={"max_steps": "5"})},
        "options.max_steps: must be a whole number, got '5'; write 5",
    ),
    "choice beside an unknown option": (
        lambda: {
            "trainer": given.Trl("dpo", options={"beta": unknown(), "lr_scheduler_type": "cosin"})
        },
        "options.lr_scheduler_type: is not one of its values",
    ),
    "lora's name beside an unknown rank": (
        lambda: {"trainer": given.Trl("sft", lora={"r": unknown(), "lora_alfa": 1})},
        "lora.lora_alfa: is not known",
    ),
    "lora's kind beside an unknown rank": (
        lambda: {
            "trainer": given.LlamaFactory(
                "sft", template="llama3", dataset="x", lora={"r": unknown(), "lora_alpha": "much"}
            )
        },
        "lora.lora_alpha: must be a whole number",
    ),
    "torchtune's item": (
        lambda: {
            "trainer": given.TorchTune(batch_size=unknown(), options={"epoch": 1}),
            "runtime": "torchtune-llama3.2-1b",
        },
        "options.epoch: tune run of torchtune",
    ),
    "parameter of XGBoost": (
        lambda: {
            "trainer": given.XGBoost(train, parameters={"max_depth": unknown(), "eta_rate": 1}),
            "runtime": "xgboost-distributed",
        },
        "parameters.eta_rate: xgboost.train of xgboost",
    ),
    "nodes of Unsloth": (
        lambda: {"trainer": given.Unsloth(dataset="org/rows", model=unknown(), num_nodes=2)},
        "num_nodes: must be 1: Unsloth trains in one process, got 2",
    ),
    "rounds of XGBoost": (
        lambda: {
            "trainer": given.XGBoost(train, parameters={"max_depth": unknown()}, rounds=0),
            "runtime": "xgboost-distributed",
        },
        "rounds: must be a whole number from 1, got 0",
    ),
    "configuration of DeepSpeed": (
        lambda: {
            "trainer": given.DeepSpeed(train, config={"train_batch_size": unknown(), "fp17": {}})
        },
        "config.fp17: deepspeed.initialize of deepspeed",
    ),
    "stage of ZeRO": (
        lambda: {"trainer": given.DeepSpeed(train, zero=4, num_nodes=unknown())},
        "zero: is not a stage of ZeRO, got 4",
    ),
    "argument of transformers": (
        lambda: {
            "trainer": given.HuggingFaceTrainer(train, options={"max_steps": unknown(), "bf": True})
        },
        "options.bf: TrainingArguments of transformers",
    ),
    "precision of FSDP2": (
        lambda: {"trainer": given.Fsdp2(train_with_mesh, precision="bf17", num_nodes=unknown())},
        "precision: cannot be computed in, got 'bf17'",
    ),
    "axis of JAX": (
        lambda: {
            "trainer": given.Jax(train_with_mesh, axes={"data": unknown(), "model": 0}),
            "runtime": "jax-distributed",
        },
        "axes.model: must be a whole number from 1, or -1, got 0",
    ),
    "nodes beside an unknown argument": (
        lambda: {
            "trainer": given.CustomTrainer(train, func_args={"rate": unknown()}, num_nodes="two")
        },
        "num_nodes: must be a whole number from 1, got 'two'",
    ),
    "argument that the function lacks": (
        lambda: {"trainer": given.CustomTrainer(train, func_args={"rate": unknown(), "rat": 1})},
        "func_args.rat: ",
    ),
    "argument that JSON lacks": (
        lambda: {
            "trainer": given.CustomTrainer(train, func_args={"rate": {1: 2}}, env={"A": unknown()})
        },
        "func_args.rate",
    ),
    "env beside an unknown one": (
        lambda: {"trainer": given.CustomTrainer(train, env={"A": unknown(), "B": 5})},
        "env.B: must be text, not int",
    ),
    "amount beside an unknown one": (
        lambda: {
            "trainer": given.ContainerTrainer(
                "image", resources_per_node={"gpu": unknown(), "memory": "4Gb"}
            )
        },
        "resources_per_node.memory: must be",
    ),
    "package beside an unknown one": (
        lambda: {"trainer": given.CustomTrainer(train, packages=[unknown(), "torch"])},
        "packages[1]: ",
    ),
    "runtime beside an unknown argument": (
        lambda: {
            "trainer": given.CustomTrainer(train, func_args={"rate": unknown()}),
            "runtime": 5,
        },
        "runtime: must be a runtime or its name, got 5",
    ),
}

RIGHT: dict[str, Callable[[], JSON]] = {
    "option": lambda: {"trainer": given.Trl("sft", options={"learning_rate": unknown()})},
    "method": lambda: {"trainer": given.Trl(unknown(), options={"num_generations": 4})},
    "stage that an offload needs": lambda: {
        "trainer": given.DeepSpeed(train, zero=unknown(), offload="parameters")
    },
    "recipe that a configuration belongs to": lambda: {
        "trainer": given.TorchTune(recipe=unknown(), config="llama3_2/1B_full")
    },
    "lora that says which recipe": lambda: {
        "trainer": given.TorchTune(lora=unknown(), options={"model.lora_rank": 4}),
        "runtime": "torchtune-llama3.2-1b",
    },
    "item of the recipe without lora": lambda: {
        "trainer": given.TorchTune(lora=unknown(), options={"optimizer_in_bwd": True}),
        "runtime": "torchtune-llama3.2-1b",
    },
    "rank that an option says too": lambda: {
        "trainer": given.Trl("sft", lora={"r": unknown()}, options={"lora_r": 4})
    },
    "precision that an option says too": lambda: {
        "trainer": given.Trl("sft", lora={"quantize": unknown()}, options={"load_in_4bit": True})
    },
    "type that an option says": lambda: {
        "trainer": given.LlamaFactory(
            "sft",
            template="llama3",
            dataset="x",
            lora=unknown(),
            options={"finetuning_type": "freeze"},
        )
    },
    "package that an image has": lambda: {
        "trainer": given.CustomTrainer(train, packages=[unknown()], image_has_packages=["torch"])
    },
    "file": lambda: {"trainer": given.CustomTrainer(unknown(), args=["--rate", "1"])},
    "arguments": lambda: {"trainer": given.CustomTrainer(train, func_args=unknown())},
    "two packages": lambda: {
        "trainer": given.CustomTrainer(train, packages=[unknown(), unknown()])
    },
}


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_beside_what_is_not_known_is_refused(name: str) -> None:
    arguments, refusal = MISTAKES[name]
    with pytest.raises(pulumi.RunError) as refused:
        constructed(lambda: TrainJob("x", **{"runtime": TORCH, **arguments()}))
    (line,) = str(refused.value).splitlines()
    assert line.startswith("TrainJob x: ")
    assert f": {refusal}" in line


@pytest.mark.parametrize("name", RIGHT)
def test_what_may_be_right_is_not_refused(engine: MockEngine, name: str) -> None:
    constructed(lambda: TrainJob("x", **{"runtime": TORCH, **RIGHT[name]()}))
    assert engine.inputs


@pytest.mark.usefixtures("engine")
def test_a_member_of_a_batch_is_judged_as_a_job_is() -> None:
    arguments, refusal = MISTAKES["option beside an unknown initializer"]
    small: Any = {"runtime": TORCH, **arguments()}
    with pytest.raises(pulumi.RunError) as refused:
        constructed(lambda: TrainJobs("x", {"small": small}))
    assert refusal in str(refused.value)
