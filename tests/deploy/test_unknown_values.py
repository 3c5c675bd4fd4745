"""What is not known at preview stays unknown in its place, and nothing is invented for it."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

import pulumi
import pytest

from tests.deploy.mock_engine import output
from trainer_infra import Trl
from trainer_infra.api.input import UNKNOWN
from trainer_infra.api.secret import Secret
from trainer_infra.deploy import outputs


def result(value: Any, then: Callable[[Any], Mapping[str, Any]]) -> tuple[bool, Any]:
    """Whether the result is known, and what it is."""

    async def run() -> tuple[bool, Any]:
        found = outputs.open_outputs(value(), lambda _plain: None, then, ("spec",))["spec"]
        return await found.is_known(), await found.future()

    return asyncio.run(run())


def test_all_else_is_known() -> None:
    def given() -> Any:
        return {"image": output(None, known=False), "numNodes": output(2, known=True)}

    assert result(given, lambda plain: {"spec": plain}) == (
        True,
        {"image": UNKNOWN, "numNodes": 2},
    )


@pytest.mark.parametrize(
    ("value", "opened"),
    [
        (2.0, 2),
        (0.5, 0.5),
        ({"grid": [1.0, 0.1], "on": True}, {"grid": [1, 0.1], "on": True}),
        (float("inf"), float("inf")),
    ],
    ids=["whole", "fraction", "nested", "infinite"],
)
def test_a_whole_number_out_of_an_output_is_an_int(value: Any, opened: Any) -> None:
    def given() -> Any:
        return {"output": output(value, known=True), "own": 2.0}

    known, spec = result(given, lambda plain: {"spec": plain})
    assert known
    # As text, for 2.0 is equal to 2.
    assert repr(spec) == repr({"output": opened, "own": 2.0})


def test_a_text_that_is_made_with_it_is_unknown_as_a_whole() -> None:
    def given() -> Any:
        return {"image": output(None, known=False)}

    assert result(given, lambda plain: {"spec": ["run", f"--image={plain['image']}"]}) == (
        True,
        ["run", UNKNOWN],
    )


def test_options_counts_and_amounts_that_are_not_known_leave_all_else_known() -> None:
    def trainer() -> Any:
        unknown = output(None, known=False)
        return Trl(
            "sft",
            options={"learning_rate": unknown, "max_steps": 5, "report_to": unknown},
            num_nodes=unknown,
            resources_per_node={"gpu": unknown, "memory": "4Gi"},
        )

    def made(plain: Any) -> Mapping[str, Any]:
        given = Trl(**plain)
        return {"spec": given.pack().trainer}

    known, spec = result(
        lambda: {each.name: getattr(trainer(), each.name) for each in fields(Trl)}, made
    )
    amounts = {"nvidia.com/gpu": UNKNOWN, "memory": "4Gi"}
    assert known
    assert spec["numNodes"] == UNKNOWN
    assert spec["resourcesPerNode"] == {"requests": amounts, "limits": amounts}
    assert spec["args"][-3:] == [UNKNOWN, "--max_steps=5", UNKNOWN]


def test_a_secret_that_is_not_known_stays_a_secret() -> None:
    def given() -> Any:
        return {"token": output(None, known=False, secret=True)}

    assert result(given, lambda plain: {"spec": isinstance(plain["token"], Secret)}) == (True, True)


@pytest.mark.parametrize(
    "error",
    [
        pulumi.RunError("numNodes must be a whole number"),
        KeyError(UNKNOWN),
        AttributeError("'str' object has no attribute 'items'"),
    ],
    ids=repr,
)
def test_nothing_is_known_where_no_result_can_be_made_of_it(error: Exception) -> None:
    def refused(_plain: Any) -> Mapping[str, Any]:
        raise error

    assert result(lambda: {"numNodes": output(None, known=False)}, refused) == (False, None)
