"""What a GitLab merge request shows of a report."""

import json
from dataclasses import replace

from tests.review.reports import ACTIVE, CLEAN, EXPIRED, LIMITS, item
from trainer_infra.review import gitlab
from trainer_infra.review.report import Place


def test_what_counts_is_an_issue_at_its_line() -> None:
    place = Place("./jobs/tj.yaml", 7, 3)
    report = replace(
        CLEAN,
        items=(
            item(place=place),
            item(LIMITS, excuse=EXPIRED, place=Place("cluster/TrainJob team-a/tj")),
            item(excuse=ACTIVE),
            item(is_known=True),
        ),
    )
    issues = json.loads(gitlab.gitlab_text(report))
    assert [
        (each["check_name"], each["severity"], each["location"]["path"], each["location"]["lines"])
        for each in issues
    ] == [
        ("image-digest", "major", "jobs/tj.yaml", {"begin": 7}),
        (LIMITS.id, "critical", "cluster/TrainJob team-a/tj", {"begin": 1}),
    ]
    assert issues[0]["description"] == item(place=place).sentence()


def test_one_fingerprint_names_one_issue() -> None:
    issues = json.loads(gitlab.gitlab_text(replace(CLEAN, items=(item(), item(), item()))))
    mark = item().fingerprint
    assert [each["fingerprint"] for each in issues] == [mark, f"{mark}-2", f"{mark}-3"]
