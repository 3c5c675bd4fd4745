"""The history of a run's reports as values: lines of a file, thinning, and the last reports of nodes."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from trainer_infra.lifecycle.conditions import timestamp
from trainer_infra.runs import report_history
from trainer_infra.runs.report_history import PastReport
from trainer_infra.runs.run import Node, Owner, Run

BEGIN = datetime(2026, 11, 26, 12, tzinfo=UTC)
STATUS = {
    "progressPercentage": 40,
    "estimatedRemainingSeconds": 9,
    "metrics": [{"name": "loss", "value": "0.31"}],
    "lastUpdatedTime": "2026-11-26T12:00:00Z",
}


def at(second: float, node: str = "node-0-0", **metrics: str) -> PastReport:
    return PastReport(timestamp(BEGIN + timedelta(seconds=second)), node, metrics=metrics)


def run(*nodes: Node, status: dict[str, Any] | None = None) -> Run:
    known = {"uid": "u", "host": "here", "owner": Owner(), "content": "c", "created": ""}
    found = {"trainerStatus": status} if status else {}
    return Run("default", "tj", phase="Complete", nodes=nodes, status=found, **known)  # type: ignore[arg-type]  # fields of any type


def test_a_report_is_a_line_of_json_and_back() -> None:
    report = report_history.past_report("node-0-0", STATUS)
    line = report_history.report_line(report)
    assert line == (
        '{"time": "2026-11-26T12:00:00Z", "node": "node-0-0", "progress": 40, "remaining": 9, '
        '"metrics": {"loss": "0.31"}}\n'
    )
    assert report_history.report_of_line(line) == report
    odd = at(0, note="a\u2028b\x85c")
    assert len(report_history.report_line(odd).splitlines()) == 1
    assert report_history.report_of_line(report_history.report_line(odd)) == odd


@pytest.mark.parametrize("line", ["", "{", "[]", "7", '{"time": 1}', '{"node": "a", "metrics": 7}'])
def test_a_line_that_is_no_report_is_none(line: str) -> None:
    assert report_history.report_of_line(line) is None


def test_thinned_out_reports_are_evenly_spread_over_the_time_with_the_first_and_the_last() -> None:
    # An hour with a report each second, after a day with a report each hour.
    day = [at(3600 * hour) for hour in range(24)]
    hour = [at(86400 + second) for second in range(3600)]
    kept = report_history.thinned([*day, *hour], 26)
    assert (kept[0], kept[-1]) == (day[0], hour[-1])
    assert len(kept) <= 26
    assert [each for each in day if each not in kept] == [], "what is rare stays"


def test_each_node_keeps_its_share_and_few_reports_stay_as_they_are() -> None:
    both = [at(second, node) for second in range(100) for node in ("node-0-0", "node-0-1")]
    kept = report_history.thinned(both, 10)
    assert [each.node for each in kept].count("node-0-1") == 5
    assert [each.time for each in kept] == sorted(each.time for each in kept)
    assert report_history.thinned(both[:8], 10) == tuple(both[:8])


def test_reports_of_one_second_leave_the_first_and_the_last() -> None:
    kept = report_history.thinned([at(0, step=str(step)) for step in range(9)], 4)
    assert [each.metrics["step"] for each in kept] == ["0", "8"]


def test_a_node_whose_history_is_gone_has_its_last_report() -> None:
    first = Node("tj-node-0-0-abcde", "Succeeded", 100, {"loss": "0.1"})
    second = Node("tj-node-0-1-fghij", "Succeeded", 90, {"loss": "0.2"})
    silent = Node("tj-node-0-2-klmno", "Succeeded")
    seen = run(first, second, silent, status=STATUS)
    history = report_history.with_last_reports(seen, [at(-5, loss="0.3")], suffix=6)
    assert history == (
        at(-5, loss="0.3"),
        PastReport("2026-11-26T12:00:00Z", "node-0-1", 90, None, {"loss": "0.2"}),
    )


def test_what_a_server_alone_knows_is_of_no_node() -> None:
    assert report_history.with_last_reports(run(status=STATUS), ()) == (
        PastReport("2026-11-26T12:00:00Z", "", 40, 9, {"loss": "0.31"}),
    )
    assert report_history.with_last_reports(run(), ()) == ()
