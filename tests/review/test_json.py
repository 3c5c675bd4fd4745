"""What other programs read."""

import json
from dataclasses import replace

from tests.review.reports import ACTIVE, CLEAN, EDIT, FULL, LIMITS, item
from trainer_infra.review import as_json


def test_a_finding_has_all_that_the_report_has() -> None:
    report = replace(CLEAN, items=(item(LIMITS, excuse=ACTIVE, is_known=True, edits=(EDIT,)),))
    assert json.loads(as_json.json_text(report))["findings"] == [
        {
            "rule": "gpu-limits",
            "severity": "high",
            "kind": "TrainJob",
            "namespace": "team-a",
            "name": "tj",
            "path": "spec.trainer.image",
            "what": "is not pinned by a digest",
            "got": "'acme/train:1'",
            "fix": "name it by its digest",
            "seenAt": "JobSet tj: spec.replicatedJobs[0]",
            "runtime": "",
            "place": {
                "file": "jobs/tj.yaml",
                "line": 7,
                "column": 12,
                "endLine": 7,
                "endColumn": 24,
                "excerpt": ["    image: acme/train:1"],
            },
            "layers": [],
            "fingerprint": "0123456789abcdef",
            "edits": [
                {
                    "file": "jobs/tj.yaml",
                    "start": {"line": 9, "column": 1},
                    "end": {"line": 9, "column": 1},
                    "text": "      limits: {}\n",
                }
            ],
            "exemption": {
                "owner": "team-a",
                "reason": "the vendor pins it",
                "expires": "2027-01-31",
                "isExpired": False,
            },
            "isKnown": True,
            "isUnchanged": False,
            "counts": False,
            "fails": False,
        }
    ]


def test_it_names_the_files_and_the_baseline_and_whose_value_was_not_seen() -> None:
    read = json.loads(as_json.json_text(FULL))
    assert read["files"] == ["jobs/clean.yaml", "jobs/tj.yaml", "jobs/ä b#1.yaml"]
    assert (read["baseline"], json.loads(as_json.json_text(CLEAN))["baseline"]) == (
        "known.json",
        None,
    )
    assert read["unseen"] == [
        {
            "kind": "TrainJob",
            "namespace": "team-a",
            "name": "tj",
            "path": "spec.trainer.image",
            "rules": ["image-digest", "image-registry"],
            "fails": False,
        }
    ]


def test_a_character_that_utf_8_does_not_have_is_replaced() -> None:
    report = replace(CLEAN, notes={"é\ud800": "\x00🚀"})
    assert json.loads(as_json.json_text(report).encode())["notes"] == {"é?": "\x00🚀"}
