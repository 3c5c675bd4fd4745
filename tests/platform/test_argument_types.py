"""What no annotation of a component's arguments allows is refused by the argument's name."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Required, TypedDict

import pulumi
import pytest
from pulumi_kubernetes.core.v1 import ResourceRequirementsArgs

from tests.platform.declared_resources import declared_resources
from trainer_infra import platform
from trainer_infra.platform.argument_types import type_problems
from trainer_infra.platform.component import PlatformComponent

COMPONENTS: Sequence[type[PlatformComponent]] = [
    each
    for each in (getattr(platform, name) for name in platform.__all__)
    if isinstance(each, type) and issubclass(each, PlatformComponent)
]


def refusal(component: Any, **args: Any) -> Sequence[str]:
    with pytest.raises(pulumi.RunError) as raised:
        declared_resources(lambda: component("it", **args))
    return str(raised.value).splitlines()


@pytest.mark.parametrize("component", COMPONENTS, ids=lambda each: each.__name__)
def test_a_value_of_no_type_that_it_takes_is_refused_by_its_name(component: Any) -> None:
    arguments = component._arguments.__annotations__  # noqa: SLF001  what it says is tested
    lines = refusal(component, **{each: object() for each in arguments})

    begins = (line.split(" must be ")[0] for line in lines)
    assert {*begins} == {f"{component.__name__} it: {each}:" for each in arguments}


class PartArgs(TypedDict, total=False):
    key: Required[str]
    effect: Literal["NoSchedule", "NoExecute"]


class Args(TypedDict, total=False):
    text: str
    later: pulumi.Input[str]
    number: int
    amount: float | str
    switch: bool
    kind: Required[Literal["one", "two"]]
    parts: Sequence[PartArgs]
    labels: pulumi.Input[Mapping[str, pulumi.Input[str]]]
    part: Literal[False] | PartArgs
    secrets: Mapping[str, Mapping[str, pulumi.Input[str]]]
    anything: Mapping[str, Any]


OUTPUT = pulumi.Output.from_input("a")
UNKNOWN = "is an Output, whose value the preview does not know; write the value itself"
WRONG: Sequence[tuple[dict[str, Any], Sequence[str]]] = [
    ({"text": 3}, ["text: must be a text, got 3"]),
    ({"text": OUTPUT}, [f"text: {UNKNOWN}"]),
    ({"later": 3}, ["later: must be a text, got 3"]),
    ({"number": True}, ["number: must be a whole number, got True"]),
    ({"number": 1.5}, ["number: must be a whole number, got 1.5"]),
    ({"amount": None, "switch": 1}, ["switch: must be True or False, got 1"]),
    ({"switch": "false"}, ["switch: must be True or False, got 'false'"]),
    ({"switch": OUTPUT}, [f"switch: {UNKNOWN}"]),
    ({"kind": "tow"}, ["kind: must be one or two, got 'tow'; did you mean two?"]),
    ({"kind": None}, ["kind: is missing; use one, two"]),
    ({"tekst": "a"}, ["tekst: is not an argument; did you mean text?"]),
    ({"parts": "key"}, ["parts: must be a list, got 'key'"]),
    ({"parts": {"key": "a"}}, ["parts: must be a list, got {'key': 'a'}"]),
    (
        {"parts": [{"key": "a"}, {"effect": 1, "keys": "a"}]},
        [
            "parts[1].effect: must be NoSchedule or NoExecute, got 1",
            "parts[1].keys: is not a known field here; did you mean key?",
            "parts[1].key: is missing",
        ],
    ),
    ({"labels": ["a"]}, ["labels: must be a mapping, got ['a']"]),
    ({"labels": {"a": 1, "b": OUTPUT}}, ["labels.a: must be a text, got 1"]),
    ({"labels": {1: "a"}}, ["labels[1]: must be a text, got 1"]),
    ({"part": True}, ["part: must be False or a mapping with key, got True"]),
    ({"part": {}}, ["part.key: is missing"]),
    (
        {"labels": ResourceRequirementsArgs(limits={"cpu": "1"})},
        ["labels: must be a mapping, got 'ResourceRequirementsArgs'"],
    ),
    ({"secrets": "hunter2"}, ["secrets: must be a mapping, and is of type str"]),
    ({"secrets": {"hub": "hunter2"}}, ["secrets.hub: must be a mapping, and is of type str"]),
    ({"secrets": {"hub": {"a": 12345}}}, ["secrets.hub.a: must be a text, and is of type int"]),
    ({"text": 1, "number": "a"}, ["text: must be a text, got 1",
                                  "number: must be a whole number, got 'a'"]),
]  # fmt: skip


@pytest.mark.parametrize(("given", "sentences"), WRONG)
def test_every_problem_of_types_has_its_path(
    given: dict[str, Any], sentences: Sequence[str]
) -> None:
    assert [str(each) for each in type_problems({"kind": "one", **given}, Args, ())] == sentences


@pytest.mark.parametrize(
    "given",
    [
        {"later": OUTPUT, "labels": OUTPUT, "amount": 1},
        {"labels": {"a": OUTPUT}, "parts": ({"key": "a", "effect": "NoExecute"},)},
        {"part": False, "amount": "1", "anything": {"a": object(), "b": OUTPUT}},
        {"part": {"key": "a"}, "secrets": {"hub": {"a": OUTPUT}}, "text": None, "amount": 0.5},
    ],
)
def test_what_annotations_allow_has_no_problem(given: dict[str, Any]) -> None:
    assert list(type_problems({"kind": "one", **given}, Args, ())) == []
