"""numpy's numbers and arrays where Python's own are wanted: taken as what they hold."""

import json

import numpy as np

from tests.trainers.conftest import Load, Problems
from trainer_infra import CustomTrainer, Secret

ANY = "def train(**given): pass\n"


def test_numpy_values_arrive_as_pythons_own(module: Load) -> None:
    packed = CustomTrainer(
        module(ANY).train,
        func_args={
            "rate": np.float64(0.1),
            "steps": np.arange(3),
            "grid": [np.logspace(-2, -1, 2), {"size": np.int64(2)}],
            "on": np.bool_(True),
            "name": np.str_("adam"),
            "seed": Secret(np.int64(3)),
        },
        num_nodes=np.int64(2),  # type: ignore[arg-type]  # no int for a type checker
        env={"MODE": np.str_("fast")},
        resources_per_node={"cpu": np.int64(2), "memory": np.float64(5e8)},
    ).pack()

    assert json.loads(packed.code.files["args.json"]) == {
        "rate": 0.1,
        "steps": [0, 1, 2],
        "grid": [[0.01, 0.1], {"size": 2}],
        "on": True,
        "name": "adam",
    }
    assert packed.secret_data == {"secret_args.json": '{"seed": 3}'}
    assert packed.trainer["numNodes"] == 2
    assert type(packed.trainer["numNodes"]) is int
    assert packed.trainer["env"] == [{"name": "MODE", "value": "fast"}]
    assert packed.trainer["resourcesPerNode"]["limits"] == {"cpu": 2, "memory": "500000000.0"}


def test_what_a_numpy_value_holds_is_judged_as_pythons_own(
    module: Load, problems: Problems
) -> None:
    trainer = CustomTrainer(
        module(ANY).train,
        func_args={"a": np.array([1.0, np.nan]), "b": np.complex64(1), "c": np.datetime64("2026")},
        num_nodes=np.int64(0),  # type: ignore[arg-type]  # no int for a type checker
        env={"N": np.int64(3)},  # type: ignore[dict-item]  # wrong on purpose
    )
    assert problems(trainer) == [
        "func_args.a[1]: JSON has no such number, got nan; give None or a text",
        (
            "func_args.b: has type complex, which does not travel as JSON, got (1+0j); "
            "give text, numbers, lists and dicts of them"
        ),
        (
            "func_args.c: has type datetime.date, which does not travel as JSON, got "
            "datetime.date(2026, 1, 1); give text, numbers, lists and dicts of them"
        ),
        "num_nodes: must be a whole number from 1, got 0",
        'env.N: must be text, not int, got 3; quote it: "3"',
    ]
