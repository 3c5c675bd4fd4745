"""Reports of progress among lines of a log and in termination messages."""

import json
from typing import Any

import pytest

from tests.cluster.world import container, ended
from trainer_infra.runs import reports

STATUS = {
    "progressPercentage": 40,
    "metrics": [{"name": "loss", "value": "0.31"}],
    "lastUpdatedTime": "2026-11-21T12:00:00Z",
}
TEXT = json.dumps(STATUS)


def pod(message: str, code: int = 0) -> dict[str, Any]:
    statuses = [container(ended(code, message=message))]
    return {"metadata": {"name": "p"}, "status": {"containerStatuses": statuses}}


def test_the_last_valid_line_counts_whoever_put_something_before_it() -> None:
    lines = [
        "trainer-infra-report: {}",
        f"trainer-infra-report: {json.dumps({**STATUS, 'progressPercentage': 39})}",
        f"[rank0]: trainer-infra-report: {TEXT}",
        "trainer-infra-report: {half a li",
        "epoch 3",
    ]
    assert reports.of_lines(lines) == STATUS
    assert reports.of_lines(lines[-2:]) is None
    assert reports.without_reports(lines) == ["epoch 3"]


@pytest.mark.parametrize(
    ("message", "found"),
    [
        (TEXT, STATUS),
        (f"{TEXT}}}]}}", STATUS),
        ("", None),
        ("loss is nan", None),
        ("{}", None),
        ('{"error": 1}', None),
        (json.dumps({**STATUS, "progressPercentage": 101}), None),
        (json.dumps({**STATUS, "lastUpdatedTime": "now"}), None),
        ("[1]", None),
    ],
)
def test_a_report_is_what_a_container_left_when_it_is_one(message: str, found: object) -> None:
    assert reports.of_pod(pod(message)) == found


@pytest.mark.parametrize(
    ("message", "left"),
    [
        (TEXT, ""),
        ("loss is nan", "loss is nan"),
        (f"a\ntrainer-infra-report: {TEXT}\nb", "a\nb"),
        ('{"error": 1}', '{"error": 1}'),
    ],
)
def test_a_report_says_nothing_of_why_a_container_ended(message: str, left: str) -> None:
    cleaned = reports.without_last_words(pod(message, 1))
    assert cleaned == pod(left, 1)


def test_the_newest_report_is_the_runs_and_of_one_second_the_first() -> None:
    later = {**STATUS, "lastUpdatedTime": "2026-11-21T12:00:01Z"}
    same = {**later, "progressPercentage": 1}
    assert reports.newest_report([STATUS, later, same]) == later
    assert reports.newest_report([]) is None
