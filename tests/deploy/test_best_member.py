"""`best` of a sweep: by which member the metric is best, whatever became of the others."""

from typing import Any

import pulumi
import pytest

from tests.deploy.project import Stack
from tests.deploy.test_sweep import sweep
from trainer_infra.deploy.run_result import Mode, RunResult, best_result


def results(**values: Any) -> dict[str, RunResult]:
    """Members that reported these values of auc; None for no report."""
    return {
        name: {
            "status": "Complete",
            "metrics": {} if value is None else {"auc": value, "step": 3},
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
        ({"a": "nan", "b": 0.9, "c": "inf"}, "max", "b", 0.9),
        ({"a": "-inf", "b": 0.9, "c": None}, "min", "b", 0.9),
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
        ({"a": "nan", "b": "inf"}, "auc", "those that ended well reported inf and nan"),
        ({"a": 1}, "acu", "those that ended well reported auc, step"),
        ({"a": None}, "auc", "those that ended well reported no metric"),
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
