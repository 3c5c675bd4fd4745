"""What CI systems show as tests."""

import xml.etree.ElementTree as ET
from dataclasses import replace

from tests.review import schemas
from tests.review.reports import ACTIVE, CLEAN, EXPIRED, LIMITS, item
from trainer_infra.review import junit
from trainer_infra.review.report import Item, Place


def suites(
    *items: Item, files: tuple[str, ...] = ("jobs/tj.yaml",)
) -> dict[str, list[tuple[str, str, list[str]]]]:
    """By name: class, name and outcome of each case."""
    made = junit.junit_text(replace(CLEAN, items=items, files=files))
    assert schemas.junit_problems(made) == []
    return {
        suite.attrib["name"]: [
            (case.attrib["classname"], case.attrib["name"], [each.tag for each in case])
            for case in suite.iterfind("testcase")
        ]
        for suite in ET.fromstring(made).iterfind("testsuite")
    }


def test_the_schema_is_one_that_refuses() -> None:
    assert schemas.junit_problems('<testsuites><testsuite skipped="0"/></testsuites>') != []


def test_only_what_fails_the_check_is_a_failure() -> None:
    found = suites(
        item(LIMITS),
        item(LIMITS, name="expired", excuse=EXPIRED),
        item(LIMITS, name="exempt", excuse=ACTIVE),
        item(LIMITS, name="known", is_known=True),
        item(name="mild"),
        item(LIMITS, place=Place("stdin")),
        files=("jobs/tj.yaml", "jobs/a.yaml", "stdin"),
    )
    assert found == {
        "jobs/tj.yaml": [
            ("TrainJob team-a/tj", "gpu-limits", ["failure"]),
            ("TrainJob team-a/expired", "gpu-limits", ["failure"]),
            ("TrainJob team-a/exempt", "gpu-limits", ["skipped", "system-out"]),
            ("TrainJob team-a/known", "gpu-limits", ["skipped", "system-out"]),
            ("TrainJob team-a/mild", "image-digest", ["system-out"]),
        ],
        "stdin": [("TrainJob team-a/tj", "gpu-limits", ["failure"])],
        "jobs/a.yaml": [("jobs/a.yaml", "no finding", [])],
        "check": [("check", "could be read", [])],
    }


def test_findings_of_one_object_and_rule_are_one_case() -> None:
    found = suites(item(LIMITS), item(LIMITS, what="is small"), item(LIMITS, excuse=ACTIVE))
    assert found["jobs/tj.yaml"] == [
        ("TrainJob team-a/tj", "gpu-limits", ["failure", "system-out"])
    ]


def test_what_could_not_be_read_is_an_error() -> None:
    made = junit.junit_text(replace(CLEAN, problems=("f:1: is <no> YAML\x00",)))
    assert 'message="f:1: is &lt;no&gt; YAML\\x00"' in made
    assert 'tests="1" failures="0" errors="1" skipped="0"' in made
