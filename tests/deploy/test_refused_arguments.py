"""What a TrainJob cannot be made of is one sentence at preview: the field, what is wrong, what to do."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import kubeflow.trainer
import pulumi
import pytest

import trainer_infra
from tests.deploy.mock_engine import MockEngine, constructed, output
from trainer_infra import Secret, TrainJob, catalog
from trainer_infra.errors import InvalidInput, shown
from trainer_infra.trainers.pods.pod_arguments import PodArguments
from trainer_infra.trainers.trainer import PackedTrainer

JSON = dict[str, Any]

given: Any = trainer_infra
"""Without its types, which would refuse most of these before a preview does."""

LONG = 128 * 1024
NUL = "has a NUL character in it, which ends every argument and variable"
OTHER = "give other text, for example base64 of the bytes"
FILE = "write it to a file that the program reads"
WHOLE = (
    "is secret as a whole, and only its values can be; "
    'keep the mapping outside of the Secret or the secret Output: {"NAME": Secret(...)}'
)
MISSHAPEN = "trainer: must be a trainer, such as CustomTrainer, or spec.trainer in wire form, got"


def too_long(text: str) -> str:
    what = "is too long: Linux starts no program with an argument or a variable of 128 KiB"
    return f"{what}, got {shown(text)}; {FILE}"


def train(**anything: object) -> None:
    """A training function."""


class OwnInit(trainer_infra.CustomTrainer):
    """A trainer whose constructor does not take its fields."""

    def __init__(self, epochs: int) -> None:
        super().__init__(train, func_args={"epochs": epochs})


@dataclass(frozen=True, slots=True)
class PacksAnything(PodArguments):
    """A trainer that packs itself into something else."""

    packed: Any

    def pack(self) -> PackedTrainer:
        """Whatever it was given."""
        if self.packed == "refused":
            raise InvalidInput([])
        return self.packed  # type: ignore[no-any-return]  # wrong on purpose


def custom(**fields: Any) -> Callable[[], JSON]:
    return lambda: {"trainer": given.CustomTrainer(train, **fields)}


def wire(**fields: Any) -> Callable[[], JSON]:
    return lambda: {"trainer": {"command": ["true"], **fields}}


def runtime_with_an_argument(text: str) -> JSON:
    wire_form = catalog.get("plain-distributed").to_wire()
    wire_form["metadata"] = {"name": "mine"}
    job = wire_form["spec"]["template"]["spec"]["replicatedJobs"][0]
    job["template"]["spec"]["template"]["spec"]["containers"][0]["args"] = [text]
    return {"runtime": wire_form, "trainer": {"command": ["true"]}}


def secret_output(value: object) -> Any:
    return output(value, known=True, secret=True)


REFUSED: dict[str, tuple[Callable[[], JSON], str]] = {
    "nul_in_env": (custom(env={"X": "a\0b"}), f"env.X: {NUL}, got 'a\\x00b'; {OTHER}"),
    "nul_in_a_secret": (custom(env={"X": Secret("a\0b")}), f"env.X: {NUL}; {OTHER}"),
    "nul_in_args": (
        lambda: {"trainer": given.ContainerTrainer("image", args=["a", "a\0b"])},
        f"args[1]: {NUL}, got 'a\\x00b'; {OTHER}",
    ),
    "nul_in_a_wire_command": (
        wire(command=["sh", "-c", "echo a\0b"]),
        f"spec.trainer.command[2]: {NUL}, got 'echo a\\x00b'; {OTHER}",
    ),
    "nul_in_wire_env": (
        wire(env=[{"name": "A", "value": "\0"}]),
        f"spec.trainer.env[0].value: {NUL}, got '\\x00'; {OTHER}",
    ),
    "nul_in_a_wire_secret": (
        wire(env=[{"name": "A", "value": Secret("\0")}]),
        f"spec.trainer.env[0].value: {NUL}; {OTHER}",
    ),
    "nul_in_a_runtime": (
        lambda: runtime_with_an_argument("\0"),
        (
            "runtime.spec.template.spec.replicatedJobs[0].template.spec.template.spec.containers[0].args[0]: "
            f"{NUL}, got '\\x00'; {OTHER}"
        ),
    ),
    "long_env": (custom(env={"ABC": "x" * (LONG - 4)}), f"env.ABC: {too_long('x' * LONG)}"),
    "long_letters": (custom(env={"A": "ä" * (LONG // 2)}), f"env.A: {too_long('ä' * LONG)}"),
    "long_argument": (wire(args=["x" * LONG]), f"spec.trainer.args[0]: {too_long('x' * LONG)}"),
    "nothing_in_env": (custom(env={"A": None}), "env.A: must be text, not NoneType; leave it out"),
    "secret_env": (
        lambda: {"trainer": given.CustomTrainer(train, env=secret_output({"A": "planted"}))},
        f"env: {WHOLE}",
    ),
    "secret_func_args": (
        lambda: {"trainer": given.CustomTrainer(train, func_args=secret_output({"a": "planted"}))},
        f"func_args: {WHOLE}",
    ),
    "secret_files": (custom(files=Secret({"/a": "planted"})), f"files: {WHOLE}"),
    "class_of_a_trainer": (
        lambda: {"trainer": given.XGBoost},
        f"{MISSHAPEN} <class 'trainer_infra.trainers.frameworks.xgboost.XGBoost'>; write trainer=XGBoost(...)",
    ),
    "class_of_the_sdk": (
        lambda: {"trainer": kubeflow.trainer.CustomTrainer},
        f"{MISSHAPEN} <class 'kubeflow.trainer.types.types.CustomTrainer'>; write trainer=CustomTrainer(...)",
    ),
    "initializer_as_uri": (
        lambda: {"initializer": "hf://a/b"},
        (
            "initializer: must be spec.initializer in wire form, got 'hf://a/b'; "
            'write {"model": {"storageUri": "hf://a/b"}}, or the same as "dataset"'
        ),
    ),
    "another_class": (lambda: {"trainer": int}, f"{MISSHAPEN} <class 'int'>"),
    "own_init": (
        lambda: {"trainer": OwnInit(3)},
        (
            "trainer: OwnInit cannot be made anew of its fields: missing a required argument: 'epochs'; "
            "make it a dataclass without an __init__ of its own"
        ),
    ),
    "packs_nothing": (
        lambda: {"trainer": PacksAnything(None)},
        (
            "trainer: pack of PacksAnything must return a PackedTrainer, not NoneType; "
            "return PackedTrainer(code, trainer, secret_data), or a PackedProgram"
        ),
    ),
    "packs_a_mapping": (
        lambda: {"trainer": PacksAnything({"command": ["true"]})},
        (
            "trainer: pack of PacksAnything must return a PackedTrainer, not dict; "
            "return PackedTrainer(code, trainer, secret_data), or a PackedProgram"
        ),
    ),
    "refuses_without_a_reason": (
        lambda: {"trainer": PacksAnything("refused")},
        (
            "trainer: PacksAnything refuses it without a reason; "
            "give the InvalidInput that its pack raises its problems"
        ),
    ),
}

ACCEPTED: dict[str, Callable[[], JSON]] = {
    "longest_env": custom(env={"ABC": "x" * (LONG - 5)}),
    "longest_argument": wire(args=["x" * (LONG - 1)]),
    "nul_in_a_file": custom(files={"/etc/key": Secret("a\0b" * LONG)}),
}


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("name", REFUSED)
def test_is_one_sentence(name: str) -> None:
    arguments, refusal = REFUSED[name]
    with pytest.raises(pulumi.RunError) as refused:
        constructed(lambda: TrainJob("x", **{"runtime": "torch-distributed", **arguments()}))
    (line,) = str(refused.value).splitlines()
    assert line == f"TrainJob x: {refusal}"
    assert "planted" not in line


@pytest.mark.parametrize("name", ACCEPTED)
def test_what_linux_takes_is_not_refused(name: str, engine: MockEngine) -> None:
    constructed(lambda: TrainJob("x", **{"runtime": "torch-distributed", **ACCEPTED[name]()}))
    assert engine.inputs
