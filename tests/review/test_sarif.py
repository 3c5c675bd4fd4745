"""What code scanning reads."""

import json
from dataclasses import replace
from typing import Any

from tests.review import schemas
from tests.review.reports import ACTIVE, CLEAN, EDIT, EXPIRED, LIMITS, item
from trainer_infra.review import sarif
from trainer_infra.review.report import Edit, Item, Place
from trainer_infra.rules.finding import Severity


def results(*items: Item, baseline: str = "") -> list[dict[str, Any]]:
    made = sarif.sarif_text(replace(CLEAN, items=items, baseline=baseline))
    assert schemas.sarif_problems(made) == []
    found: list[dict[str, Any]] = json.loads(made)["runs"][0]["results"]
    return found


def physical(place: Place) -> dict[str, Any]:
    (found,) = results(item(place=place))
    place_: dict[str, Any] = found["locations"][0]["physicalLocation"]
    return place_


def test_the_schema_is_one_that_refuses() -> None:
    wrong = sarif.sarif_text(CLEAN).replace('"2.1.0"', '"2.0.0"').replace('"results"', '"result"')
    assert len(schemas.sarif_problems(wrong)) == 2


def test_an_exemption_is_a_suppression_and_an_expired_one_a_rejected_one() -> None:
    found = results(item(), item(excuse=ACTIVE), item(excuse=EXPIRED))
    assert [each["suppressions"] for each in found] == [
        [],
        [
            {
                "kind": "external",
                "status": "accepted",
                "justification": (
                    "exempt until 2027-01-31, team-a answers for it: the vendor pins it"
                ),
            }
        ],
        [
            {
                "kind": "external",
                "status": "rejected",
                "justification": (
                    "EXEMPTION EXPIRED on 2026-01-31, team-b answers for it: until the move"
                ),
            }
        ],
    ]


def test_all_results_have_a_baseline_state_or_none() -> None:
    found = results(item(), item(is_known=True), baseline="known.json")
    assert [each["baselineState"] for each in found] == ["new", "unchanged"]
    assert results(item(), baseline="known.json")[0]["baselineState"] == "new"
    assert "baselineState" not in results(item())[0]


def test_the_level_is_that_of_the_finding_and_its_rule_is_found_by_index() -> None:
    (found,) = results(replace(item(LIMITS), severity=Severity.LOW))
    assert (found["level"], found["ruleIndex"]) == ("note", 1)


def test_a_fix_has_the_edits_of_each_file_together() -> None:
    other = Edit("b c.yaml", (1, 2), (3, 4), "")
    (found,) = results(item(edits=(EDIT, other, replace(EDIT, text="x"))))
    start = {"startLine": 9, "startColumn": 1, "endLine": 9, "endColumn": 1}
    assert found["fixes"] == [
        {
            "description": {"text": "name it by its digest"},
            "artifactChanges": [
                {
                    "artifactLocation": {"uri": "jobs/tj.yaml", "uriBaseId": "%SRCROOT%"},
                    "replacements": [
                        {
                            "deletedRegion": start,
                            "insertedContent": {"text": "      limits: {}\n"},
                        },
                        {"deletedRegion": start, "insertedContent": {"text": "x"}},
                    ],
                },
                {
                    "artifactLocation": {"uri": "b%20c.yaml", "uriBaseId": "%SRCROOT%"},
                    "replacements": [
                        {
                            "deletedRegion": {
                                "startLine": 1,
                                "startColumn": 2,
                                "endLine": 3,
                                "endColumn": 4,
                            },
                            "insertedContent": {"text": ""},
                        }
                    ],
                },
            ],
        }
    ]


def test_a_place_without_a_line_has_no_region() -> None:
    assert physical(Place("TrainJob a/tj")) == {
        "artifactLocation": {"uri": "TrainJob%20a/tj", "uriBaseId": "%SRCROOT%"}
    }


def test_a_whole_path_is_a_whole_uri() -> None:
    assert physical(Place("/jobs/a:b#?.yaml"))["artifactLocation"] == {
        "uri": "file:///jobs/a%3Ab%23%3F.yaml"
    }


def test_a_message_makes_no_link() -> None:
    (found,) = results(item(got="[x](https://example.com)"))
    assert "[x] (https://example.com)" in found["message"]["text"]
