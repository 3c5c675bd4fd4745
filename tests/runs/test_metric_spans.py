"""The best so far of a sweep: the least and the most of each metric, and whose they are."""

from typing import Any

import pytest

from trainer_infra.runs.reports import metric_spans
from trainer_infra.runs.run import Node, Owner, Run


def ended(**metrics: str) -> Run:
    known: dict[str, Any] = {
        "uid": "u",
        "host": "h",
        "owner": Owner(),
        "content": "",
        "created": "",
    }
    reported = [{"name": name, "value": value} for name, value in metrics.items()]
    status = {"trainerStatus": {"metrics": reported}}
    nodes = (Node("node-0-0", "node", metrics=metrics),)
    return Run("default", "tj", phase="Complete", nodes=nodes, status=status, **known)


@pytest.mark.parametrize(
    ("runs", "said"),
    [
        ({}, ""),
        ({"a": ended(auc="0.5")}, ""),
        ({"a": ended(auc="0.5"), "b": ended(auc="0.50")}, ""),
        ({"a": ended(auc="0.71"), "b": ended(auc="0.93")}, "auc 0.71 (a) to 0.93 (b)"),
        ({"a": ended(auc="nan"), "b": ended(auc="0.93"), "c": ended(auc="high")}, ""),
        (
            {"a": ended(auc="inf"), "b": ended(auc="0.9"), "c": ended(auc="0.25", loss="3")},
            "auc 0.25 (c) to 0.9 (b)",
        ),
        (
            {"a": ended(x="1", y="5", z="2"), "b": ended(x="2", y="4", z="3")},
            "x 1 (a) to 2 (b), y 4 (b) to 5 (a)",
        ),
    ],
)
def test_the_least_and_the_most_are_named(runs: dict[str, Run], said: str) -> None:
    assert metric_spans(runs) == said
