"""Fields of CustomTrainer besides the code: every problem at once, in the order of the fields."""

import enum
import math
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.trainers.conftest import Load, Problems, Write
from trainer_infra.api.secret import Secret
from trainer_infra.trainers.custom.custom_trainer import CustomTrainer
from trainer_infra.trainers.trainer import PackedProgram

ANY = "def train(**anything): pass\n"


def test_values_that_json_would_change_are_named_by_path(module: Load, problems: Problems) -> None:
    class Level(enum.IntEnum):
        ONE = 1

    loop: list[Any] = []
    loop.append(loop)
    args = {
        "layers": [1, {"a": (2,)}, {3}],
        "raw": b"x",
        "nan": math.nan,
        "keys": {1: "a", "b": Level.ONE},
        "price": Decimal(1),
        "where": Path("x"),
        "deep": {"token": Secret("s3cr3t")},
        "hidden": Secret({"a": {4}}),
        "loop": loop,
        "large": [10**4299, -(10**4300)],
        "secret": Secret(10**5000),
    }
    text = "give text, numbers, lists and dicts of them"
    no = "which does not travel as JSON"
    large = (
        "has over 4300 digits, which Python does not read; give it as text, for example hex(...)"
    )
    assert problems(CustomTrainer(module(ANY).train, func_args=args)) == [
        f"func_args.layers[1].a: has type tuple, {no}, got (2,); give a list",
        f"func_args.layers[2]: has type set, {no}, got {{3}}; give a sorted list",
        f"func_args.raw: has type bytes, {no}, got b'x'; give text, for example base64",
        "func_args.nan: JSON has no such number, got nan; give None or a text",
        (
            "func_args.keys: has a key that is not text, which JSON would turn into text, got 1; "
            "use text keys"
        ),
        (
            f"func_args.keys.b: has type {__name__}.{Level.__qualname__}, {no}, "
            f"got <Level.ONE: 1>; {text}"
        ),
        f"func_args.price: has type decimal.Decimal, {no}, got Decimal('1'); {text}",
        f"func_args.where: has type pathlib.PosixPath, {no}, got PosixPath('x'); give str(path)",
        (
            "func_args.deep.token: a Secret inside an argument cannot be taken out of it; "
            "make the whole argument one Secret"
        ),
        f"func_args.hidden.a: has type set, {no}; give a sorted list",
        f"func_args.loop{'[0]' * 28}[0…: is nested deeper than 100 levels",
        f"func_args.large[1]: {large}",
        f"func_args.secret: {large}",
    ]


def test_arguments_must_fit_the_function(module: Load, problems: Problems) -> None:
    fit = module("def train(first, /, epochs, *rest, rate, size=1): pass\n")
    args = {"epoch": 3, "zzz": 1, "rate": 0.1}
    assert problems(CustomTrainer(fit.train, func_args=args)) == [
        "fit.py:1: func_args.epoch: function train takes no such argument; did you mean epochs?",
        (
            "fit.py:1: func_args.zzz: function train takes no such argument; "
            "it takes epochs, rate, size"
        ),
        (
            "fit.py:1: func_args.first: function train takes this argument by position only, "
            "and arguments have names; remove the / from its definition"
        ),
        (
            "fit.py:1: func_args.epochs: function train needs this argument, and it is not given; "
            "give it, or a default"
        ),
    ]


def test_arguments_must_fit_a_function_in_a_file(write: Write, problems: Problems) -> None:
    write("train.py", "def fit(epochs): pass\n@print\ndef other(x): pass\n")
    assert problems(CustomTrainer("train.py:fit")) == [
        (
            "train.py:1: func_args.epochs: function fit needs this argument, and it is not given; "
            "give it, or a default"
        )
    ]
    CustomTrainer("train.py:other", func_args={"anything": 1}).pack()


def test_each_kind_of_code_has_its_kind_of_arguments(write: Write, problems: Problems) -> None:
    write("train.py", "def fit(): pass\nfit()\n")
    assert problems(CustomTrainer("train.py", func_args={"a": 1})) == [
        (
            "train.py: func_args: a script takes no func_args; "
            'give args, or a function: "train.py:FUNCTION"'
        )
    ]
    assert problems(CustomTrainer("train.py:fit", args=["a"])) == [
        "train.py:1: args: function fit takes no command line; give func_args"
    ]
    assert problems(CustomTrainer("train.py", args=["a", 1, Secret("x")])) == [  # type: ignore[list-item]  # wrong on purpose
        'args[1]: must be text, not int, got 1; quote it: "1"',
        "args[2]: a program's arguments can be read by anyone; pass it in env, and read it from there",
    ]


def test_all_other_fields_are_checked_together(module: Load, problems: Problems) -> None:
    trainer = CustomTrainer(
        module(ANY).train,
        num_nodes=0,
        num_proc_per_node=True,
        resources_per_node={"cpu": True, "gpu": 1, "nvidia.com/gpu": 2, "memory": math.inf},
        env={
            "1A": "x",
            "N": 3,  # type: ignore[dict-item]  # wrong on purpose
            "S": Secret(4),
            "M": {"value": "x"},
            "TRAINER_INFRA_SECRET_ARGS": "x",
        },
        image="",
        packages=["jax[cpu]==0.9.0", "torch", "numpy>=2", "JAX==0.8", "a==1.*"],
    )
    pin = 'write name==version, for example "jax[cpu]==0.9.0", or give a lock file that `trainer-infra lock` makes'
    inexact = "has no exact version, so the same job could train with other code"
    assert problems(trainer) == [
        "num_nodes: must be a whole number from 1, got 0",
        "num_proc_per_node: must be a whole number from 1, got True",
        'resources_per_node.cpu: is not an amount, got True; give a number, or a text such as "4Gi"',
        "resources_per_node.gpu: is the same as nvidia.com/gpu; keep one of them",
        "resources_per_node.memory: is not an amount, got inf; give a finite number",
        (
            "env.1A: is not a name that an env variable may have; "
            "use letters, digits, `_`, `-` and `.`, and no digit first"
        ),
        'env.N: must be text, not int, got 3; quote it: "3"',
        (
            "env.S: a secret variable is text, and this Secret holds a number; "
            'give it text, as Secret("...")'
        ),
        (
            "env.M: is a mapping of another kind, got {'value': 'x'}; "
            'give text, or {"valueFrom": {...}} as a pod has it'
        ),
        "env.TRAINER_INFRA_SECRET_ARGS: is set by trainer_infra itself; use another name",
        "image: must be an image's name, got ''",
        f"packages[1]: {inexact}, got 'torch'; {pin}",
        f"packages[2]: {inexact}, got 'numpy>=2'; {pin}",
        "packages[3]: differs from 'jax[cpu]==0.9.0' above, got 'JAX==0.8'; keep one",
        f"packages[4]: {inexact}, got 'a==1.*'; {pin}",
    ]


def test_wrong_shapes_are_refused_first(module: Load, problems: Problems) -> None:
    trainer = CustomTrainer(
        module(ANY).train,
        func_args=[1],  # type: ignore[arg-type]  # wrong on purpose
        args="a b",
        env={1: "x"},  # type: ignore[dict-item]  # wrong on purpose
        packages={"jax": "1"},  # type: ignore[arg-type]  # wrong on purpose
    )
    assert problems(trainer) == [
        "func_args: must be a mapping with text keys, got [1]",
        "args: must be a list of texts, got 'a b'",
        "env: must be a mapping with text keys, got {1: 'x'}",
        "packages: must be a list of texts, got {'jax': '1'}",
    ]


def test_variables_written_as_words_are_answered_with_a_mapping_and_without_their_values(
    problems: Problems,
) -> None:
    trainer = CustomTrainer("train.py", env=["TOKEN=hf_secret"])  # type: ignore[arg-type]  # wrong on purpose
    assert "env: must be a mapping with text keys; write {'TOKEN': ...}" in problems(trainer)


def test_a_full_trainer_in_wire_form(write: Write) -> None:
    write("train.py", "print()")
    packed = CustomTrainer(
        "train.py",
        args=["--a"],
        num_nodes=2,
        num_proc_per_node=1,
        resources_per_node={"cpu": 0.5, "gpu": 2, "memory": "4Gi", "storage": 1},
        env={"A": "a$(B)", "B": Secret("b"), "C": {"valueFrom": {"fieldRef": {"fieldPath": "x"}}}},
        image="img",
        packages=["b==1", "a[x]==2", "b==1"],
    ).pack()
    amounts = {"cpu": "0.5", "nvidia.com/gpu": 2, "memory": "4Gi", "ephemeral-storage": 1}
    reference = {"name": "trainer-infra-own-secret", "key": "env.B"}
    trainer = {
        "image": "img",
        "args": ["--a"],
        "env": [
            {"name": "A", "value": "a$$(B)"},
            {"name": "B", "valueFrom": {"secretKeyRef": reference}},
            {"name": "C", "valueFrom": {"fieldRef": {"fieldPath": "x"}}},
        ],
        "numNodes": 2,
        "numProcPerNode": 1,
        "resourcesPerNode": {"requests": amounts, "limits": amounts},
    }
    assert packed == PackedProgram(packed.code, trainer, {"env.B": "b"})
    assert packed.code.packages == ("a[x]==2", "b==1")
    assert packed.code.secret_args is False


def test_resource_requirements_pass_as_they_are(write: Write, problems: Problems) -> None:
    write("train.py", "print()")
    given: dict[str, Any] = {"limits": {"cpu": 1}}
    assert CustomTrainer("train.py", resources_per_node=given).pack().trainer == {
        "resourcesPerNode": given
    }
    assert problems(CustomTrainer("train.py", resources_per_node={**given, "cpu": 1})) == [
        (
            "resources_per_node.cpu: stands beside requests or limits; "
            "move it into both, or give amounts only"
        )
    ]


class Output:
    """As the deploy room's Outputs: nothing but `apply` is known of them."""

    def apply(self) -> None: ...


@pytest.mark.parametrize("name", ["env", "func_args"])
def test_a_secret_of_a_later_value_stays_as_it_is(module: Load, name: str) -> None:
    output = Output()
    given: dict[str, Any] = {name: {"k": Secret(output)}}
    packed = CustomTrainer(module(ANY).train, **given).pack()
    expected = {"env": {"env.k": output}, "func_args": {"secret_args.json": {"k": output}}}
    assert packed.secret_data == expected[name]


def test_a_secret_is_shown_nowhere() -> None:
    trainer = CustomTrainer("train.py", env={"A": Secret("s3cr3t")}, func_args={"b": Secret("s3")})
    assert "s3" not in repr(trainer) + str(Secret("s3"))
