"""Arguments by the names that other tools give them: what is meant is said."""

import re
from dataclasses import dataclass, fields
from inspect import signature
from typing import Any

import pytest

import trainer_infra
from trainer_infra.deploy.train_job_arguments import TrainJobArgs
from trainer_infra.trainers import argument_names
from trainer_infra.trainers.argument_names import advice
from trainer_infra.trainers.custom.custom_trainer import CustomTrainer
from trainer_infra.trainers.pods.pod_arguments import PodArguments

given: Any = trainer_infra
"""Without its types, which refuse all of these."""


def train() -> None:
    """Nothing."""


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: given.CustomTrainer(train, gpus=1), 'did you mean resources_per_node={"gpu": N}?'),
        (lambda: given.CustomTrainer(train, nproc_per_node=2), "did you mean num_proc_per_node?"),
        (lambda: given.CustomTrainer(train, nodes=2), "did you mean num_nodes?"),
        (lambda: given.CustomTrainer(train, num_node=2), "did you mean num_nodes?"),
        (lambda: given.CustomTrainer(train, requirements=["a"]), "did you mean packages?"),
        (lambda: given.CustomTrainer(train, wait_for="complete"), "give wait_for to the TrainJob"),
        (lambda: given.CustomTrainer(train, outputs=["model"]), "give outputs to the TrainJob"),
        (lambda: given.XGBoost(train, params={}), "did you mean parameters?"),
        (lambda: given.Trl("sft", cpus=1), 'did you mean resources_per_node={"cpu": N}?'),
        (lambda: given.TorchTune(func_args={}), "no argument 'func_args'; use "),
        (lambda: given.ContainerTrainer("a", command=["b"], what=1), "use image, command, "),
    ],
)
def test_a_trainer_says_what_is_meant(make: Any, said: str) -> None:
    with pytest.raises(TypeError, match=re.escape(said)):
        make()


def test_a_member_and_a_job_say_who_has_an_argument() -> None:
    member = (*TrainJobArgs.__annotations__,)
    assert advice("wait_for", member) == "give wait_for to TrainJobs"
    assert advice("max_parallel", member) == "give max_parallel to TrainJobs"
    assert advice("num_nodes", member) == "give num_nodes to the trainer"
    assert advice("gpus", member) == 'give resources_per_node={"gpu": N} to the trainer'
    job = (*member, "wait_for")
    assert advice("wait", job) == "did you mean wait_for?"
    assert advice("trainr", job) == "did you mean trainer?"


def test_the_arguments_that_are_named_exist() -> None:
    trainer, job, jobs = map(set, argument_names.OWNERS.values())
    assert job - {"wait_for"} <= TrainJobArgs.__annotations__.keys()
    assert {each.name for each in fields(CustomTrainer)} >= trainer
    every = job | jobs | trainer | {"train", "name", "parameters"}
    assert {each.partition("=")[0] for each in argument_names.OTHER_NAMES.values()} <= every


@dataclass(frozen=True, slots=True, kw_only=True)
class OfAnotherPackage(PodArguments):
    """A trainer with an argument of its own."""

    depth: int = 1


class WithConstructor(PodArguments):
    """One whose constructor takes what it likes."""

    def __init__(self, **anything: Any) -> None:
        self.__dict__["anything"] = anything


def test_editors_see_the_arguments() -> None:
    shown = [*signature(CustomTrainer).parameters]
    assert shown[:3] == ["train", "num_nodes", "num_proc_per_node"]
    assert [*signature(OfAnotherPackage).parameters][-1] == "depth"


def test_trainers_of_other_packages_take_what_they_name() -> None:
    assert OfAnotherPackage(depth=3, num_nodes=2).depth == 3
    with pytest.raises(TypeError, match="OfAnotherPackage has no argument 'dept'; did you mean de"):
        OfAnotherPackage(dept=3)  # type: ignore[call-arg]  # what is refused
    assert WithConstructor(gpus=3).__dict__["anything"] == {"gpus": 3}
