"""Trainers that prepare a framework: what travels with the function, and what is refused at preview."""

import json
import re
from typing import Any

import pytest

from tests.trainers.conftest import Problems, Write
from trainer_infra import catalog, names
from trainer_infra.errors import InvalidInput
from trainer_infra.trainers import compose
from trainer_infra.trainers.compose import Composition
from trainer_infra.trainers.custom.custom_trainer import CustomTrainer
from trainer_infra.trainers.frameworks.deepspeed import DeepSpeed
from trainer_infra.trainers.frameworks.fsdp2 import Fsdp2
from trainer_infra.trainers.frameworks.hugging_face import HuggingFaceTrainer
from trainer_infra.trainers.frameworks.jax import Jax
from trainer_infra.trainers.frameworks.xgboost import XGBoost

FUNCTIONS = """
def sharded(mesh, shard, epochs): ...
def meshed(mesh): ...
def configured(config): ...
def boosted(parameters, rounds, **more): ...
def argued(arguments): ...
def alone(epochs): ...
"""
ANY: Any = {
    "deepspeed": DeepSpeed,
    "fsdp2": Fsdp2,
    "hugging_face": HuggingFaceTrainer,
    "jax": Jax,
    "xgboost": XGBoost,
}
"""The classes without their types, which forbid most of what is refused here."""


@pytest.fixture(autouse=True)
def functions(write: Write) -> None:
    write("train.py", FUNCTIONS)


def launched(trainer: CustomTrainer) -> dict[str, Any]:
    launch: dict[str, Any] = json.loads(trainer.pack().code.files["launch.json"])
    return launch


@pytest.mark.parametrize(
    ("trainer", "framework"),
    [
        (
            Fsdp2("train.py:sharded", func_args={"epochs": 1}, precision="bfloat16"),
            {
                "name": "fsdp2",
                "settings": {
                    "tensor_parallel": 1,
                    "precision": "bfloat16",
                    "cpu_offload": False,
                    "reshard_after_forward": True,
                },
            },
        ),
        (
            Jax("train.py:meshed", axes={"data": -1, "model": 2}),
            {"name": "jax", "settings": {"axes": {"data": -1, "model": 2}}},
        ),
        (
            DeepSpeed(
                "train.py:configured",
                zero=3,
                offload="parameters",
                config={"gradient_clipping": 1.0, "zero_optimization": {"overlap_comm": True}},
            ),
            {
                "name": "deepspeed",
                "settings": {
                    "config": {
                        "gradient_clipping": 1.0,
                        "zero_optimization": {
                            "stage": 3,
                            "offload_optimizer": {"device": "cpu"},
                            "offload_param": {"device": "cpu"},
                            "overlap_comm": True,
                        },
                    }
                },
            },
        ),
        (
            XGBoost("train.py:boosted", parameters={"max_depth": 4}, rounds=3),
            {"name": "xgboost", "settings": {"parameters": {"max_depth": 4}, "rounds": 3}},
        ),
        (
            HuggingFaceTrainer("train.py:argued", options={"max_steps": 3, "seed": None}),
            {
                "name": "hugging_face",
                "settings": {"options": {"max_steps": 3}, "output": "output://model"},
            },
        ),
    ],
    ids=lambda value: value["name"] if isinstance(value, dict) else "",
)
def test_the_framework_travels_with_the_function(
    trainer: CustomTrainer, framework: dict[str, Any]
) -> None:
    assert launched(trainer)["framework"] == framework
    files = trainer.pack().code.files
    assert f"lib/trainer_infra/in_pod/frameworks/{framework['name']}.py" in files


def test_a_function_takes_what_it_wants_of_a_framework() -> None:
    launch = launched(Fsdp2("train.py:alone", func_args={"epochs": 2}))
    assert launch["function"] == "alone"
    assert "lib/trainer_infra/in_pod/frameworks/torch_group.py" in (
        Fsdp2("train.py:meshed").pack().code.files
    )


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("fsdp2", {"train": "train.py"}, "train: must be a function, which fsdp2 is prepared for"),
    (
        "fsdp2",
        {"train": "train.py:meshed", "func_args": {"mesh": 1}},
        "func_args.mesh: is an argument that the trainer itself gives the function",
    ),
    (
        "fsdp2",
        {"train": "train.py:sharded"},
        "func_args.epochs: function sharded needs this argument, and it is not given",
    ),
    (
        "fsdp2",
        {"train": "train.py:meshed", "precision": "float8"},
        "precision: is none to compute in, got 'float8'; did you mean float16?",
    ),
    (
        "fsdp2",
        {"train": "train.py:meshed", "tensor_parallel": 3, "num_proc_per_node": 2},
        "tensor_parallel: does not divide the 2 processes of a node, got 3",
    ),
    (
        "fsdp2",
        {"train": "train.py:meshed", "cpu_offload": "yes"},
        "cpu_offload: must be true or false, got 'yes'",
    ),
    (
        "jax",
        {"train": "train.py:meshed", "axes": {"a": -1, "b": -1}},
        "axes: can have -1 only once, got {'a': -1, 'b': -1}",
    ),
    (
        "jax",
        {"train": "train.py:meshed", "axes": {"a": 0}},
        "axes.a: must be a whole number from 1, or -1, got 0",
    ),
    (
        "deepspeed",
        {"train": "train.py:configured", "zero": 4},
        "zero: is no stage of ZeRO, got 4; use 0, 1, 2 or 3",
    ),
    (
        "deepspeed",
        {"train": "train.py:configured", "offload": "parameters"},
        (
            "offload: can offload parameters with stage 3 only, which divides them, got 'parameters'; "
            "give zero=3"
        ),
    ),
    (
        "deepspeed",
        {"train": "train.py:configured", "config": {"gradient_cliping": 1}},
        (
            "config.gradient_cliping: deepspeed.initialize of deepspeed 0.19.8 has no such option, got 1; "
            "did you mean gradient_clipping?"
        ),
    ),
    (
        "deepspeed",
        {"train": "train.py:configured", "config": {"zero_optimization": {"stage": 1}}},
        "config.zero_optimization.stage: is set by the trainer itself; give zero= of the trainer",
    ),
    (
        "deepspeed",
        {"train": "train.py:configured", "config": {"zero_optimization": {"overlap_comm": 1}}},
        "config.zero_optimization.overlap_comm: must be true or false, got 1",
    ),
    (
        "xgboost",
        {"train": "train.py:boosted", "parameters": {"max_dept": 3}},
        (
            "parameters.max_dept: xgboost.train of xgboost 3.2.0 has no such option, got 3; "
            "did you mean max_depth?"
        ),
    ),
    (
        "xgboost",
        {"train": "train.py:boosted", "rounds": 0},
        "rounds: must be a whole number from 1, got 0",
    ),
    (
        "hugging_face",
        {"train": "train.py:argued", "options": {"output_dir": "x"}},
        "options.output_dir: is set by the trainer itself; give output= of the trainer",
    ),
    (
        "hugging_face",
        {"train": "train.py:argued", "options": {"learning_rat": 1}},
        (
            "options.learning_rat: TrainingArguments of transformers 5.24.0 has no such option, got 1; "
            "did you mean learning_rate?"
        ),
    ),
]


@pytest.mark.parametrize(
    ("name", "arguments", "message"), REFUSED, ids=[each for _, _, each in REFUSED]
)
def test_it_is_refused(
    name: str, arguments: dict[str, Any], message: str, problems: Problems
) -> None:
    (problem,) = problems(ANY[name](**arguments))
    assert re.sub(r"^train.py:\d+: ", "", problem).startswith(message)


def test_xgboost_is_refused_on_nodes_whose_workers_would_never_come() -> None:
    runtime = catalog.get("xgboost-distributed")

    def made(gpus: int, trainer: CustomTrainer) -> Composition:
        packed = trainer.pack()
        job = {
            "apiVersion": names.API_VERSION,
            "kind": names.TRAIN_JOB,
            "metadata": {"name": "trees"},
            "spec": {
                "runtimeRef": {"name": runtime.metadata.name},
                "trainer": {
                    **packed.trainer,
                    "resourcesPerNode": {"limits": {"nvidia.com/gpu": gpus}},
                },
            },
        }
        return compose.compose(job, runtime, packed.code, ())

    assert made(1, XGBoost("train.py:boosted", num_nodes=4)).objects
    with pytest.raises(InvalidInput) as caught:
        made(8, XGBoost("train.py:boosted", num_nodes=4))
    assert str(caught.value) == (
        "resources_per_node: the trainer XGBoost is one worker on each node, which uses one GPU, and a "
        'node has 8; give a node one, resources_per_node={"gpu": 1}, and 8 times as many nodes'
    )
    # A function of one's own may start a worker for each GPU.
    assert made(8, CustomTrainer("train.py:alone", func_args={"epochs": 1})).objects
