"""A report as JUnit XML, which every CI system shows as tests. Pure.

A suite is a file, a case is a rule that an object of it breaks. JUnit has no standard: this is what
the schemas of Jenkins (`junit-10.xsd` of its xUnit plugin) and of Ant have in common, and `skipped`
and the output of a case, which Ant's does not know. It has no time and no host: the same report is
the same text.
"""

import xml.etree.ElementTree as ET
from collections.abc import Iterator
from itertools import groupby
from typing import Final

from trainer_infra.review import summary, visible
from trainer_infra.review.report import Item, Report

_MESSAGE: Final = 1000
"""Characters of an attribute at most; the text of the element has all."""


def text(report: Report) -> str:
    """The report: what fails the check is a failure, what could not be read an error."""
    root = ET.Element("testsuites")
    failing = {id(each) for each in report.failing()}
    by_file = sorted(report.items, key=lambda each: each.place.file)
    for file, items in groupby(by_file, lambda each: each.place.file):
        suite = _add_suite(root, visible.line(file).strip() or "-")
        for same in _by_case(items):
            _add_case(suite, same, failing)
    _add_clean(root, report.files - len(root))
    _add_check(root, report)
    for each in root:
        _complete(each)
    ET.indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _by_case(items: Iterator[Item]) -> list[list[Item]]:
    cases: dict[tuple[str, str], list[Item]] = {}
    for each in items:
        cases.setdefault((summary.named(each), each.rule.id), []).append(each)
    return list(cases.values())


def _add_case(suite: ET.Element, items: list[Item], failing: set[int]) -> None:
    first = items[0]
    case = _add_passed(suite, first.rule.id, summary.named(first))
    failed = [each for each in items if id(each) in failing]
    others = [each for each in items if id(each) not in failing]
    if failed:
        _add(case, "failure", failed[0].severity, [_told(each) for each in failed])
    elif not any(each.counts for each in others):
        reasons = [", ".join(summary.remarks(each)) for each in others]
        _add(case, "skipped", "exempt" if first.excuse else "known", reasons)
    if others:
        ET.SubElement(case, "system-out").text = "\n\n".join(map(_told, others))


def _add(case: ET.Element, tag: str, type_: str, told: list[str]) -> None:
    message = visible.cut(told[0].partition("\n")[0], _MESSAGE)
    ET.SubElement(case, tag, type=type_, message=message).text = "\n\n".join(told)


def _told(item: Item) -> str:
    """The finding with its place, on lines of its own."""
    place = item.place
    at = ":".join(map(str, filter(None, (visible.line(place.file), place.line, place.column))))
    lines = [
        f"{item.severity}: {summary.clause(item)}",
        f"at {at}",
        f"seen at {visible.line(item.seen_at)}" if item.seen_at else "",
        f"fix: {visible.line(item.fix)}" if item.fix else "",
        *summary.remarks(item),
    ]
    return "\n".join(filter(None, lines))


def _add_clean(root: ET.Element, files: int) -> None:
    """The files without a finding, of which the report says how many there are."""
    if files > 0:
        suite = _add_suite(root, "files without a finding")
        for number in range(1, files + 1):
            _add_passed(suite, f"file {number}", "no finding")


def _add_check(root: ET.Element, report: Report) -> None:
    """What is said of the check and not of a file."""
    suite = _add_suite(root, "check")
    for number, each in enumerate(report.problems, 1):
        case = _add_passed(suite, f"could be read {number}", "check")
        _add(case, "error", "unread", [visible.line(each)])
    if not report.problems:
        _add_passed(suite, "could be read", "check")
    lines = (
        *(f"not seen: {summary.blind(each)}" for each in report.unseen),
        *(f"unused: {visible.line(each)}" for each in report.unused),
        *(
            f"note: {visible.line(title)}: {visible.line(each)}"
            for title, each in report.notes.items()
        ),
        *(summary.scope(report), summary.tally(report), summary.verdict(report)),
    )
    ET.SubElement(suite, "system-out").text = "\n".join(lines)


def _add_suite(root: ET.Element, name: str) -> ET.Element:
    number = str(len(root))
    suite = ET.SubElement(root, "testsuite", name=name, id=number, package="trainer-infra")
    ET.SubElement(suite, "properties")
    return suite


def _add_passed(suite: ET.Element, name: str, of: str) -> ET.Element:
    return ET.SubElement(suite, "testcase", name=name, classname=of, time="0")


def _complete(suite: ET.Element) -> None:
    """The suite with its output, which Ant wants to be there, and its figures."""
    if suite.find("system-out") is None:
        ET.SubElement(suite, "system-out")
    ET.SubElement(suite, "system-err")
    tags = {"tests": "testcase", "failures": "failure", "errors": "error", "skipped": "skipped"}
    for name, tag in tags.items():
        suite.set(name, str(sum(1 for _ in suite.iter(tag))))
    suite.set("time", "0")
