"""What is said of a runtime that is not seen depends on what else is known."""

from typing import Any

import pytest

from trainer_infra.rules import tree, world
from trainer_infra.rules.finding import Finding
from trainer_infra.rules.judge import ConfiguredRule, judge
from trainer_infra.rules.shape.runtime_reference import RUNTIME_EXISTS as RULE

API = "trainer.kubeflow.org/v1alpha1"


def findings(
    reference: dict[str, str], runtime_namespace: str = "", *, is_whole: bool
) -> list[Finding]:
    metadata: dict[str, Any] = {"name": "digits", "namespace": "vision"}
    place = {"namespace": runtime_namespace} if runtime_namespace else {}
    objects = (
        {
            "apiVersion": API,
            "kind": "TrainJob",
            "metadata": metadata,
            "spec": {"runtimeRef": reference},
        },
        {
            "apiVersion": API,
            "kind": "TrainingRuntime",
            "metadata": {"name": "small", **place},
            "spec": {"mlPolicy": {}},
        },
    )
    subjects = tree.subjects_of(objects)
    found = judge(
        subjects[0], world.world_of(subjects, is_whole=is_whole), [ConfiguredRule.default(RULE)]
    )
    return [finding for each in found for finding in each.findings]


@pytest.mark.parametrize(("is_whole", "where"), [(True, "the cluster"), (False, "what is checked")])
def test_only_of_a_whole_world_it_says_that_there_is_none(is_whole: bool, where: str) -> None:
    assert findings({"name": "torch-distribute"}, is_whole=is_whole) == [
        Finding(
            ("spec", "runtimeRef", "name"),
            f"names a runtime that is neither in {where} nor in the catalog",
            "torch-distribute",
            "did you mean torch-distributed or torch-distributed-with-cache or "
            "torch-distributed-with-initializers? `trainer-infra catalog` lists all",
        )
    ]


def test_a_runtime_without_a_namespace_may_be_the_one() -> None:
    assert findings({"name": "small", "kind": "TrainingRuntime"}, is_whole=True) == []


@pytest.mark.parametrize(
    ("reference", "fix"),
    [
        ({"name": "small"}, "there is a TrainingRuntime of that name in namespace language"),
        (
            {"name": "small", "kind": "TrainingRuntime"},
            "there is a TrainingRuntime of that name in namespace language",
        ),
        (
            {"name": "torch-distributed", "kind": "TrainingRuntime"},
            "leave `kind` out to use the catalog's",
        ),
    ],
)
def test_it_says_what_may_be_meant(reference: dict[str, str], fix: str) -> None:
    (found,) = findings(reference, "language", is_whole=True)
    assert (found.path, found.fix) == (("spec", "runtimeRef", "name"), fix)


@pytest.mark.parametrize("places", [("", "default"), ("default", ""), ("", "")])
def test_an_object_that_names_no_namespace_is_in_default(places: tuple[str, str]) -> None:
    job, runtime = ({"namespace": each} if each else {} for each in places)
    reference = {"name": "small", "kind": "TrainingRuntime"}
    made = tree.subjects_of(
        (
            {
                "apiVersion": API,
                "kind": "TrainJob",
                "metadata": {"name": "digits", **job},
                "spec": {"runtimeRef": reference},
            },
            {
                "apiVersion": API,
                "kind": "TrainingRuntime",
                "metadata": {"name": "small", **runtime},
                "spec": {"mlPolicy": {}},
            },
        )
    )
    assert made[0].runtime is not None
