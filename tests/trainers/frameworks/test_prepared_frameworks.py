"""Trainers that prepare a framework: what travels with the function, and what is refused at preview."""

import json
import re
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
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


class Stage(int, Enum):
    WEIGHTS = 3


class Method(str, Enum):  # noqa: UP042  a StrEnum is written as its value already
    HIST = "hist"


FUNCTIONS = """
def sharded(mesh, shard, epochs): ...
def meshed(mesh): ...
def configured(config): ...
def boosted(parameters, rounds, **more): ...
def argued(arguments): ...
def alone(epochs): ...
print(__name__)
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
            HuggingFaceTrainer("train.py:argued", options={"max_steps": 3, "data_seed": None}),
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


@pytest.mark.parametrize(
    ("given", "taken"),
    [
        ({"quantile_alpha": [0.1, 0.5]}, {"quantile_alpha": [0.1, 0.5]}),
        ({"monotone_constraints": (1, -1)}, {"monotone_constraints": "(1,-1)"}),
        ({"monotone_constraints": [1.0, -1.0]}, {"monotone_constraints": "(1,-1)"}),
        ({"validate_parameters": True}, {"validate_parameters": True}),
        ({"disable_default_eval_metric": 1}, {"disable_default_eval_metric": 1}),
        ({"max_depth": 6.0, "eta": 1.0}, {"max_depth": 6, "eta": 1.0}),
        ({"tree_method": Method.HIST}, {"tree_method": "hist"}),
    ],
    ids=str,
)
def test_xgboost_gets_parameters_that_it_reads_from_json(
    given: dict[str, Any], taken: dict[str, Any]
) -> None:
    trainer = ANY["xgboost"]("train.py:boosted", parameters=given, rounds=20.0)
    assert launched(trainer)["framework"]["settings"] == {"parameters": taken, "rounds": 20}
    assert all(
        type(each) is type(taken[name])
        for name, each in launched(trainer)["framework"]["settings"]["parameters"].items()
    )


@pytest.mark.parametrize(
    "options",
    [
        {"fsdp": True},
        {"report_to": ["tensorboard", "wandb"]},
        {"optim_target_modules": ["attn"]},
        {"debug": "underflow_overflow"},
        {"debug": ["underflow_overflow"]},
    ],
    ids=str,
)
def test_training_arguments_take_what_their_constructor_takes(options: dict[str, Any]) -> None:
    trainer = HuggingFaceTrainer("train.py:argued", options=options)
    assert launched(trainer)["framework"]["settings"]["options"] == options


def test_deepspeed_takes_whole_numbers_as_its_documents_write_them() -> None:
    config = {"zero_optimization": {"reduce_bucket_size": 5e8}}
    trainer = DeepSpeed("train.py:configured", config=config)
    zero = {"stage": 2, "reduce_bucket_size": 5e8}
    assert launched(trainer)["framework"]["settings"]["config"] == {"zero_optimization": zero}


def test_deepspeed_takes_a_stage_as_it_calls_it_itself() -> None:
    trainer = ANY["deepspeed"]("train.py:configured", zero=Stage.WEIGHTS)
    config = launched(trainer)["framework"]["settings"]["config"]
    assert config["zero_optimization"] == {"stage": 3}


def test_a_function_takes_what_it_wants_of_a_framework() -> None:
    launch = launched(Fsdp2("train.py:alone", func_args={"epochs": 2}))
    assert launch["function"] == "alone"
    assert "lib/trainer_infra/in_pod/frameworks/fsdp2.py" in (
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
        "precision: cannot be computed in, got 'float8'; did you mean float16?",
    ),
    (
        "fsdp2",
        {"train": "train.py:meshed", "precision": np.array([1, 2])},
        "precision: cannot be computed in, got [1, 2]",
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
        "zero: is not a stage of ZeRO, got 4; use 0, 1, 2 or 3",
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
    *(
        ("xgboost", {"train": "train.py:boosted", "parameters": {name: value}}, message)
        for name, value, message in (
            ("max_depth", 6.5, "parameters.max_depth: must be a whole number, got 6.5"),
            ("num_class", 3.5, "parameters.num_class: must be a whole number, got 3.5"),
            ("verbosity", "x", "parameters.verbosity: must be a whole number, got 'x'"),
            ("eval_metric", {"auc"}, "parameters.eval_metric: has type set, which does not travel"),
        )
    ),
    (
        "xgboost",
        {"train": "train.py:boosted", "rounds": None},
        "rounds: must be a whole number from 1, not None; leave it out for 10",
    ),
    *(
        ("deepspeed", {"train": "train.py:configured", **given}, message)
        for given, message in (
            (
                {"config": {"optimizer": {"params": {"a": Path("/x")}}}},
                "config.optimizer.params.a: has type pathlib.PosixPath, which does not travel",
            ),
            (
                {"config": {"zero_optimization": True}},
                "config.zero_optimization: must be a mapping with text keys, got True",
            ),
            (
                {"config": {"zero_optimization": [1]}},
                "config.zero_optimization: must be a mapping with text keys, got [1]",
            ),
            (
                {"config": {"zero_optimization": {"reduce_bucket_size": 5.5}}},
                "config.zero_optimization.reduce_bucket_size: must be a whole number, got 5.5",
            ),
            ({"zero": np.array([2, 3])}, "zero: is not a stage of ZeRO, got [2, 3]"),
            ({"offload": np.array([1, 2])}, "offload: cannot be offloaded, got [1, 2]"),
        )
    ),
    *(
        ("hugging_face", {"train": "train.py:argued", **given}, message)
        for given, message in (
            ({"options": ["a"]}, "options: must be a mapping with text keys, got ['a']"),
            ({"options": "abc"}, "options: must be a mapping with text keys, got 'abc'"),
            ({"options": 5}, "options: must be a mapping with text keys, got 5"),
            ({"output": Path("/x")}, "output: must be a text with something in it, got PosixPath"),
            ({"output": None}, "output: must be a text with something in it, not None"),
            ({"output": ""}, "output: must be a text with something in it, got ''"),
            ({"output": 5}, "output: must be a text with something in it, got 5"),
            ({"options": {"seed": None}}, "options.seed: is None, which is not handed over"),
            (
                {"options": {"lr_scheduler_kwargs": {"p": Path("/x")}}},
                "options.lr_scheduler_kwargs.p: has type pathlib.PosixPath, which does not travel",
            ),
            (
                {"options": {"lr_scheduler_kwargs": {1: 2}}},
                "options.lr_scheduler_kwargs: has a key that is not text",
            ),
            (
                {"options": {"report_to": True}},
                "options.report_to: must be a text or a list, got True",
            ),
        )
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
