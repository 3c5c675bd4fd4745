"""Every format is well-formed, whatever users write."""

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from itertools import groupby
from pathlib import Path

import pytest
from hypothesis import given, settings
from markdown_it import MarkdownIt
from markdown_it.token import Token

from tests.review import reports, schemas
from tests.review.reports import FULL, HOSTILE, hostile
from trainer_infra.review import finding_groups, markdown, text
from trainer_infra.review.formats import FORMATS
from trainer_infra.review.report import Place, Report

GOLDEN = Path(__file__).parent / "golden"
MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable("table")
OUR_TAGS = {"<code>", "</code>", "<br>", "<!-- -->"}


@pytest.mark.parametrize("name", FORMATS)
def test_a_report_with_everything_is_what_it_was(name: str) -> None:
    """To change them: `.venv/bin/python -m tests.review.write_golden`, and read the difference."""
    assert FORMATS[name](FULL) == (GOLDEN / f"full.{name}").read_text(encoding="utf-8")


@settings(max_examples=60)
@given(reports.reports)
def test_any_report_is_well_formed_in_every_format(report: Report) -> None:
    for name, made in FORMATS.items():
        CHECKS[name](report, made(report))


@pytest.mark.parametrize("words", HOSTILE, ids=lambda words: ascii(words[:12]))
def test_hostile_words_are_words_only(words: str) -> None:
    report = hostile(words)
    for name, made in FORMATS.items():
        CHECKS[name](report, made(report))


def check_text(report: Report, made: str) -> None:
    made.encode()
    assert made.replace("\n", "").replace("\u200d", "").replace("\u200c", "").isprintable()
    assert not [line for line in made.split("\n") if line.lstrip().startswith("::")]
    assert "##[" not in made
    coloured = text.report_text(report, colour=True)
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured) == made


def check_json(report: Report, made: str) -> None:
    made.encode()
    read = json.loads(made)
    assert len(read["findings"]) == len(report.items)
    assert [each["rule"] for each in read["findings"]] == [each.rule.id for each in report.items]


def check_sarif(report: Report, made: str) -> None:
    made.encode()
    assert schemas.sarif_problems(made) == []
    (run,) = json.loads(made)["runs"]
    related = [len(each.get("relatedLocations", ())) for each in run["results"]]
    assert len(run["results"]) + sum(related) == len(report.items)
    for result in run["results"]:
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
        assert re.fullmatch(r"(file://)?([\w.~/-]|%[0-9A-F]{2})*", uri, re.ASCII)


def check_junit(report: Report, made: str) -> None:
    assert schemas.junit_problems(made) == []
    suites = ET.fromstring(made).findall("testsuite")
    for each in suites:
        assert int(each.attrib["failures"]) == len(each.findall("testcase/failure"))
    failures = sum(int(each.attrib["failures"]) for each in suites)
    assert bool(failures) == bool(report.failing())
    errors = sum(int(each.attrib["errors"]) for each in suites)
    assert errors == len(report.problems)


def check_github(report: Report, made: str) -> None:
    made.encode()
    *commands, verdict, rest = made.split("\n")
    assert (verdict[:9], rest) == ("The check", "")
    groups = finding_groups.finding_groups(report)
    shown = [each for group in groups for each in group.items]
    alike = sum(len(group.items) * len(group.others) for group in groups)
    assert len(shown) + alike == sum(not each.is_known for each in report.items)
    told = (shown, report.problems, report.unused, report.unseen, report.notes)
    assert len(commands) == sum(map(len, told))
    form = re.compile(r"::(error|warning|notice) ((file|line|col|endLine|title)=[^:,\r]*,?)+::.*")
    assert [each for each in commands if not form.fullmatch(each)] == []
    failing = sum(map(report.fails, shown))
    assert sum(each.startswith("::error ") for each in commands) == failing + len(report.problems)


def check_gitlab(report: Report, made: str) -> None:
    made.encode()
    issues = json.loads(made)
    assert len(issues) == sum(each.counts for each in report.items)
    assert len({each["fingerprint"] for each in issues}) == len(issues)
    for each in issues:
        assert [*each] == ["description", "check_name", "fingerprint", "severity", "location"]
        assert each["location"]["lines"]["begin"] > 0
        assert each["severity"] in {"minor", "major", "critical", "blocker"}


def check_markdown(_report: Report, made: str) -> None:
    made.encode()
    tokens = MARKDOWN.parse(made)
    inline = [child for token in tokens for child in token.children or ()]
    assert {each.type for each in tokens} <= {
        *("heading_open", "heading_close", "inline", "paragraph_open", "paragraph_close"),
        *("bullet_list_open", "bullet_list_close", "list_item_open", "list_item_close"),
        *(f"{part}_{end}" for part in ("table", "thead", "tbody") for end in ("open", "close")),
        *(f"{part}_{end}" for part in ("tr", "th", "td") for end in ("open", "close")),
    }
    assert {each.type for each in inline} <= {
        *("text", "text_special", "html_inline", "strong_open", "strong_close"),
    }
    assert {each.content for each in inline if each.type == "html_inline"} <= OUR_TAGS
    assert_tables_are_whole(tokens, made)


def assert_tables_are_whole(tokens: list[Token], made: str) -> None:
    """Every line that was meant to be a row is one, with as many cells as those around it."""
    rows = sum(each.type == "tr_open" for each in tokens)
    tables = sum(each.type == "table_open" for each in tokens)
    lines = made.split("\n")
    assert rows + tables == sum(each.startswith("|") for each in lines)
    for is_table, block in groupby(lines, lambda each: each.startswith("|")):
        assert not is_table or len({each.count("|") for each in block}) == 1


CHECKS: dict[str, Callable[[Report, str], None]] = {
    "text": check_text,
    "json": check_json,
    "sarif": check_sarif,
    "junit": check_junit,
    "github": check_github,
    "gitlab": check_gitlab,
    "markdown": check_markdown,
}


def test_a_summary_fits_into_what_github_takes() -> None:
    place = Place("y" * 5_000, 1)
    items = tuple(
        reports.item(name=str(each), got=f"{each}{'x' * 5_000}", place=place)
        for each in range(5_000)
    )
    made = markdown.markdown_text(Report(items=items, rules=(), objects=1, files=("y",)))
    assert len(made.encode()) < 1024 * 1024
    assert made.endswith("The other formats have all.\n")
