"""`best` of a sweep: by which member the metric is best, whatever became of the others."""

from typing import Any

import pulumi
import pytest

from tests.deploy.project import Stack
from tests.deploy.test_batch import HEAD
from tests.deploy.test_sweep import sweep
from trainer_infra.deploy.run_result import Mode, RunResult, best_result

ABSENT = "not reported"
"""Stands for no report."""


def results(**values: Any) -> dict[str, RunResult]:
    """Members that reported these values of auc; None for one that is not a number."""
    return {
        name: {
            "status": "Complete",
            "metrics": {} if value == ABSENT else {"auc": value, "step": 3},
            "nodes": {},
            "outputs": {"model": f"/kept/{name}"},
            "started_at": "",
            "finished_at": "",
        }
        for name, value in values.items()
    }


@pytest.mark.parametrize(
    ("values", "mode", "member", "value"),
    [
        ({"a": 0.5, "b": 0.9, "c": 0.7}, "max", "b", 0.9),
        ({"a": 0.5, "b": 0.9, "c": 0.7}, "min", "a", 0.5),
        ({"a": None, "b": 0.9, "c": None}, "max", "b", 0.9),
        ({"a": None, "b": 0.9, "c": ABSENT}, "min", "b", 0.9),
        ({"a": 1, "b": 1.0}, "max", "a", 1),
        ({"a": -2, "b": 0}, "max", "b", 0),
    ],
)
def test_the_best_number_counts(
    values: dict[str, Any], mode: Mode, member: str, value: float
) -> None:
    found = best_result(results(**values), "auc", mode, "TrainJobs s")
    assert (found["member"], found["value"]) == (member, value)
    assert found["outputs"] == {"model": f"/kept/{member}"}


@pytest.mark.parametrize(
    ("values", "metric", "why"),
    [
        ({}, "auc", "none ended well; failures says why"),
        ({"a": None, "b": "high"}, "auc", "those that ended well reported high and nan or inf"),
        ({"a": 1}, "acu", "those that ended well reported auc, step"),
        ({"a": ABSENT}, "auc", "those that ended well reported no metric"),
    ],
)
def test_without_a_number_it_is_said_what_there_is(
    values: dict[str, Any], metric: str, why: str
) -> None:
    with pytest.raises(pulumi.RunError) as raised:
        best_result(results(**values), metric, "max", "TrainJobs s")
    assert str(raised.value) == f"TrainJobs s: no member is best by '{metric}': {why}"


def test_another_mode_is_refused() -> None:
    with pytest.raises(pulumi.RunError, match="mode must be 'max' or 'min', got 'maximum'"):
        best_result(results(a=1), "auc", "maximum", "TrainJobs s")  # type: ignore[arg-type]


def test_a_sweep_hands_on_its_best_member_and_says_where_all_failed(stack: Stack) -> None:
    best = '\nbest = sweep.best("accuracy")\npulumi.export("best", best["member"])\n'
    members = '{"good": job(text="one"), "bad": job(code=42)}'
    stack.program(sweep(members, ", tolerate_failures=1") + best)
    stack.up()
    assert stack.outputs()["best"] == "good"

    stack.program(sweep('{"bad": job(code=42)}', ", tolerate_failures=1") + best)
    shown = stack.up(ok=False)
    assert "TrainJobs sweep: no member is best by 'accuracy': none ended well" in shown
    assert "Traceback" not in shown


NAN = """
def rated(rate):
    from trainer_infra.report import report
    report(progress=100, loss=float(rate), steps=3)
rates = {"a": float("nan"), "b": 0.5, "c": float("inf"), "d": 0.25}
members = {
    name: {"runtime": "plain-distributed", "trainer": CustomTrainer(rated, func_args={"rate": str(rate)})}
    for name, rate in rates.items()
}
"""
USED = """
for mode in ("min", "max"):
    pulumi.export(mode, sweep.best("loss", mode=mode)["member"])
pulumi.export("loss", sweep.results.apply(lambda all: {name: each["metrics"]["loss"] for name, each in all.items()}))
pulumi.export("nodes", sweep.result.results.apply(lambda all: all["a"]["nodes"]["node-0-0"]["loss"] is None))
pulumi.export("sorted", sweep.results.apply(lambda all: sorted(
    name for name, each in all.items() if each["metrics"]["loss"] is not None and each["metrics"]["loss"] > 0.3
)))
one = TrainJob("one", **members["a"], wait_for="complete")
pulumi.export("one", one.metrics["loss"].apply(lambda loss: loss is None))
"""


def test_a_member_that_diverged_has_no_number_and_is_never_the_best(stack: Stack) -> None:
    whole = 'sweep = TrainJobs("sweep", members, wait_for="complete")\n'
    stack.program(HEAD + NAN + whole + USED)
    shown = stack.up()
    found = stack.outputs()
    assert (found["min"], found["max"], found["sorted"]) == ("d", "b", ["b"])
    assert (found["nodes"], found["one"]) == (True, True)
    assert {name: each for name, each in found["loss"].items() if each is not None} == {
        "b": 0.5,
        "d": 0.25,
    }
    assert "reported no numbers: in the program these metrics are None" in shown
    assert "a: loss=nan" in shown
    assert "c: loss=inf" in shown
    assert "reported loss=nan: in the program these metrics are None" in shown
    stack.unchanged()
    stack.run("refresh", "--yes", "--expect-no-changes")
