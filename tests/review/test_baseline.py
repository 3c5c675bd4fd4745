"""A baseline knows findings by what they are, not by where they stand."""

import json
from pathlib import Path

import pytest

from tests.review import checked
from tests.review.reports import ACTIVE, EXPIRED, item
from trainer_infra.cli import judge
from trainer_infra.errors import InvalidInput
from trainer_infra.review import baseline
from trainer_infra.review.report import Report

JOB = """\
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: a, namespace: team-a}
spec:
  runtimeRef: {name: torch-distributed}
  trainer:
    image: acme/train:latest
"""


def test_a_known_finding_is_known_wherever_it_moves_and_a_new_one_counts(tmp_path: Path) -> None:
    first = checked.of_text(JOB, "image-digest")
    file = tmp_path / "baseline.json"
    file.write_text(baseline.baseline_text(first))
    known = baseline.read_baseline(file.read_bytes(), str(file))

    moved = checked.of_text(f"# moved\n\n{JOB}", "image-digest", file="b.yaml", baseline=known)
    other = JOB.replace("name: a,", "name: b,")
    both = checked.of_text(f"{JOB}---\n{other}", "image-digest", baseline=known)
    again = baseline.read_baseline(baseline.baseline_text(moved).encode(), "again.json")

    assert [each.is_known for each in moved.items] == [True]
    assert [(each.name, each.is_known) for each in both.items] == [("a", True), ("b", False)]
    assert again == known


def test_it_has_what_counts_and_what_is_known_but_nothing_that_is_exempt() -> None:
    items = (item(name="a"), item(name="b", excuse=ACTIVE), item(name="c", excuse=EXPIRED))
    report = Report((*items, item(name="d", is_known=True)), (), 4, ("a.yaml",))
    found = json.loads(baseline.baseline_text(report))
    assert found["version"] == 1
    assert found["findings"] == [
        {
            "fingerprint": each.fingerprint,
            "rule": "image-digest",
            "folders": [],
            "finding": each.sentence(),
        }
        for each in (items[0], items[2], report.items[3])
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "is not a baseline; make it with `trainer-infra check --write-baseline`"),
        ("[]", "is not a baseline; make it with `trainer-infra check --write-baseline`"),
        ("{}", "is not a baseline; make it with `trainer-infra check --write-baseline`"),
        (
            '{"version": 1, "findings": [1]}',
            "is not a baseline; make it with `trainer-infra check --write-baseline`",
        ),
        ('{"version": 2, "findings": []}', "version: must be 1, got 2"),
    ],
)
def test_what_is_no_baseline_is_refused(text: str, problem: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        baseline.read_baseline(text.encode(), "a.json")
    assert str(refused.value) == f"a.json: {problem}"


def test_a_baseline_that_is_not_there_is_refused() -> None:
    with pytest.raises(InvalidInput, match="cannot be read: No such file or directory"):
        judge.PolicyFiles().named("none")


def test_an_empty_baseline_knows_nothing() -> None:
    empty = baseline.baseline_text(Report((), (), 0, ()))
    assert baseline.read_baseline(empty.encode(), "a.json") == ()
